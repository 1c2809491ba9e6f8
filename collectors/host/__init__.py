"""What an engine runs on: processor, memory, kernel, container engine, GPUs and who uses them."""

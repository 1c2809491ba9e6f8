"""Engines that anvil itself can start without a container, and the model files for them.

They run in processes of their own and know nothing of the rest of anvil.
"""

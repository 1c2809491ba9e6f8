"""Turn the quickstart's GGUF into a Hugging Face cache that vLLM loads offline; run with the peer's Python.

    python vllm_snapshot.py MODEL.gguf CACHE NAME

The cache gets one snapshot of NAME, whose revision is made from the weights' digest: it is no revision of
the hub's, and the recipe names none.
"""

import hashlib
import shutil
import sys
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

source, cache, name = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
made = cache / "making"
shutil.rmtree(made, ignore_errors=True)
quantized = AutoModelForCausalLM.from_pretrained(
    str(source.parent), gguf_file=source.name, dtype=torch.bfloat16
)
config = quantized.config
if hasattr(config, "quantization_config"):
    del config.quantization_config  # else vLLM would look for GGUF kernels
plain = LlamaForCausalLM(config).to(torch.bfloat16)
plain.load_state_dict(quantized.state_dict())
plain.save_pretrained(made)
AutoTokenizer.from_pretrained(str(source.parent), gguf_file=source.name).save_pretrained(made)

revision = hashlib.sha256((made / "model.safetensors").read_bytes()).hexdigest()[:40]
repository = cache / "hub" / f"models--{name.replace('/', '--')}"
shutil.rmtree(repository, ignore_errors=True)
(repository / "snapshots").mkdir(parents=True)
(repository / "refs").mkdir()
made.rename(repository / "snapshots" / revision)
(repository / "refs" / "main").write_text(revision)

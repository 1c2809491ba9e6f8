"""Which flag of which engine a declared setting is passed by, so that a recipe cannot say two things.

1. A recipe declares settings, which are published, and argv, which runs. Where this table knows the
   flag, both must say the same.
2. For an experiment the flags of the changed settings are taken out of both argv; the rest is equal.
3. A setting that the table does not know is declared only.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Passed:
    """How a setting is passed: `value` by a flag's value, `on` and `off` by flags alone.

    `member` names a member of the JSON object that is the flag's value; `present` says that the
    setting is true exactly when the flag is there.
    """

    value: str | None = None
    member: str | None = None
    present: str | None = None
    on: str | None = None
    off: str | None = None

    @property
    def flags(self) -> tuple[str, ...]:
        """Every flag that has to do with the setting."""
        return tuple(flag for flag in (self.value, self.present, self.on, self.off) if flag)


FLAGS: Mapping[str, Mapping[str, Passed]] = {
    "vllm": {
        "attention_backend": Passed(value="--attention-backend"),
        "context_tokens": Passed(value="--max-model-len"),
        "gpu_memory_utilization": Passed(value="--gpu-memory-utilization"),
        "kv_cache_dtype": Passed(value="--kv-cache-dtype"),
        "language_only": Passed(present="--language-model-only"),
        "max_num_batched_tokens": Passed(value="--max-num-batched-tokens"),
        "max_num_seqs": Passed(value="--max-num-seqs"),
        "model_dtype": Passed(value="--dtype"),
        "prefix_cache": Passed(on="--enable-prefix-caching", off="--no-enable-prefix-caching"),
        "speculative_decoding": Passed(present="--speculative-config"),
        "speculative_method": Passed(value="--speculative-config", member="method"),
        "speculative_tokens": Passed(value="--speculative-config", member="num_speculative_tokens"),
        "tensor_parallel_size": Passed(value="--tensor-parallel-size"),
    },
    "sglang": {
        "attention_backend": Passed(value="--attention-backend"),
        "chunked_prefill_tokens": Passed(value="--chunked-prefill-size"),
        "context_tokens": Passed(value="--context-length"),
        "kv_cache_dtype": Passed(value="--kv-cache-dtype"),
        "language_only": Passed(present="--language-only"),
        "max_mamba_cache_size": Passed(value="--max-mamba-cache-size"),
        "max_running_requests": Passed(value="--max-running-requests"),
        "memory_fraction_static": Passed(value="--mem-fraction-static"),
        "moe_runner_backend": Passed(value="--moe-runner-backend"),
        "prefix_cache": Passed(off="--disable-radix-cache"),
        "speculative_decoding": Passed(present="--speculative-algorithm"),
        "tensor_parallel_size": Passed(value="--tp-size"),
    },
    "llamacpp": {
        "context_tokens": Passed(value="--slot-context"),
        "slots": Passed(value="--slots"),
    },
}
"""By engine and setting."""


def flag_value(argv: tuple[str, ...], flag: str) -> str | None:
    """Return the value that `flag` has in `argv`, as ``--flag VALUE`` or ``--flag=VALUE``, or None."""
    for position, element in enumerate(argv):
        if element.startswith(f"{flag}="):
            return element.partition("=")[2]
        if element == flag and position + 1 < len(argv):
            return argv[position + 1]
    return None


def passed_value(passed: Passed, argv: tuple[str, ...]) -> str | bool | None:
    """Return what `argv` says about a setting, or None when it leaves that to the engine."""
    if passed.present:
        return any(element.partition("=")[0] == passed.present for element in argv)
    if passed.on and passed.on in argv:
        return True
    if passed.off and passed.off in argv:
        return False
    if passed.value is None:
        # A switch with one flag only: without it the engine does the other thing.
        return None if passed.on and passed.off else not passed.on
    value = flag_value(argv, passed.value)
    return value if value is None or passed.member is None else _member(value, passed.member)


def _member(text: str, name: str) -> str | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return str(found[name]) if isinstance(found, dict) and name in found else None


def says_the_same(declared: object, passed: str | bool | None) -> bool:
    """Say whether a declared value and a passed one mean the same: ``0.9`` and ``0.90``, ``FP8`` and ``fp8``."""
    if isinstance(declared, bool) or isinstance(passed, bool) or passed is None:
        return declared is passed
    try:
        return Fraction(str(declared)) == Fraction(passed)
    except ValueError:
        return str(declared).casefold() == passed.casefold()


def without_flags(argv: tuple[str, ...], flags: Iterable[str]) -> tuple[str, ...]:
    """Return `argv` without these flags and the values that follow them."""
    taken, kept, dropping = set(flags), [], False
    for element in argv:
        if element.partition("=")[0] in taken:
            dropping = "=" not in element
        elif not dropping or element.startswith("--"):
            dropping = False
            kept.append(element)
    return tuple(kept)

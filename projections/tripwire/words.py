"""Words that stand in texts anyway: as the name of a host or user they count only in structure."""

from __future__ import annotations

_WORDS = """
    administrator anonymous assistant attention backend baseline benchmark building candidate checkpoint
    collector complete completed compute computer container context controller database debian default
    desktop developer development disabled documents download dynamic embedding enabled endpoint engineer
    engineering evidence executor experiment external failover flashinfer foundation frontend function
    generation generator graphics hardware homelab hostname incomplete inference instance interface internal
    kubernetes language laptop launcher localhost localdomain location machine maintainer management manager
    measured measurement mixture monitoring multimodal network notebook nvidia observed observer offline
    operator overview parallel partition personal pipeline platform postgres prefetch preflight primary
    production profiler profiling prometheus prototype provider publication quantization quickstart qwen
    reasoning recorder registry research researcher retained retrieval sandbox scheduler scientist secondary
    sequence server service serving session sglang shared software something speculative staging standard
    station storage structured student supervisor support synthetic system technology template tensorrt
    terminal testing thinking thousand throughput training transformers ubuntu unlimited upstream username
    validation virtual visible warning weights windows workload worker workspace workstation
"""

COMMON = frozenset(_WORDS.split())
"""Compared without regard to case."""

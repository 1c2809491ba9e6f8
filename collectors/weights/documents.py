"""Configurations, index files and chat templates: what they say, and what they would make an engine do.

1. A configuration is read when it is JSON of at most `MAX_DOCUMENT` bytes. Tokenizers are not read; their
   digests stand for them.
2. Anything that makes an engine import code from the repository is a finding, at whatever depth it stands.
3. A template is text. It is neither compiled nor rendered; names with two underscores at their ends, by which
   templates get at Python, are looked for.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from anvil.collectors.weights.strictjson import JsonRefused, read_json

MAX_DOCUMENT = 16 << 20
TEMPLATE = "chat_template.jinja"

CONFIGURATIONS = frozenset({
    "config.json", "generation_config.json", "tokenizer_config.json", "preprocessor_config.json",
    "processor_config.json", "video_preprocessor_config.json", "special_tokens_map.json", "chat_template.json",
    "adapter_config.json", "quantize_config.json", "quantization_config.json", "hf_quant_config.json", "modules.json",
    "model_index.json", "recipe.json", "params.json",
})  # fmt: skip
"""Names of configurations, in whatever folder."""

ROLES: dict[str, str] = {
    "config.json": "config",
    "generation_config.json": "generation-config",
    "tokenizer.json": "tokenizer",
    "tokenizer.model": "tokenizer-model",
    "tekken.json": "tokenizer-tekken",
    "tokenizer_config.json": "tokenizer-config",
    "preprocessor_config.json": "preprocessor-config",
    "hf_quant_config.json": "quantization-config",
}
"""Files whose digests are published, by what they are for."""

_INTERNALS = re.compile(r"__[a-z]{2,30}__|\|\s{0,8}attr\b|\bmro\b")
_PYTHON = re.compile(r"[A-Za-z_][\w.]*")


def is_index(name: str) -> bool:
    """Say whether a file is the index of a sharded model."""
    return name.endswith(".safetensors.index.json")


def is_read(name: str) -> bool:
    """Say whether a file is read as a configuration."""
    return PurePosixPath(name).name in CONFIGURATIONS


def parse(raw: bytes) -> Any:
    """Return what a configuration or index says.

    Raises:
        JsonRefused: it is not JSON that is read here.
    """
    if len(raw) > MAX_DOCUMENT:
        raise JsonRefused("document-too-large")
    return read_json(raw, malformed="document-malformed")


def asks_for_code(value: Any) -> bool:
    """Say whether a configuration makes an engine import code from the repository (rule 2)."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, list):
            pending += item
        elif isinstance(item, dict):
            if any(_names_code(name, inner) for name, inner in item.items()):
                return True
            pending += item.values()
    return False


def _names_code(name: str, value: Any) -> bool:
    match name:
        case "auto_map" | "custom_pipelines" | "custom_generate":
            return bool(value)
        case "trust_remote_code":
            return value not in (False, None)
        case "type" if isinstance(value, str):  # of sentence-transformers' modules.json
            return (
                "." in value
                and bool(_PYTHON.fullmatch(value))
                and not value.startswith("sentence_transformers.")
            )
    return False


def templates(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield (name, text) of each chat template in a configuration."""
    if PurePosixPath(name).name not in (
        "tokenizer_config.json",
        "chat_template.json",
        "processor_config.json",
    ):
        return
    stated = value.get("chat_template") if isinstance(value, dict) else None
    if isinstance(stated, str):
        yield "default", stated
    for row in stated if isinstance(stated, list) else ():
        if isinstance(row, dict) and isinstance(row.get("template"), str):
            yield str(row.get("name")), row["template"]


def reaches_out(template: str) -> bool:
    """Say whether a template reaches for Python's internals (rule 3)."""
    return any(_INTERNALS.search(_without_texts(block)) for block in _blocks(template))


def _blocks(template: str) -> Iterator[str]:
    """Yield what stands between the brackets of a template."""
    at = 0
    while (start := min(_finds(template, at, "{{", "{%"), default=-1)) >= 0:
        end = min(_finds(template, start + 2, "}}", "%}"), default=len(template))
        yield template[start + 2 : end]
        at = end + 2


def _finds(text: str, at: int, *marks: str) -> list[int]:
    return [found for mark in marks if (found := text.find(mark, at)) >= 0]


def _without_texts(block: str) -> str:
    """Return a block of a template without its plain texts; one in brackets is a name like any other."""
    return re.sub(r"(?<!\[)(?:'[^'\\]*'|\"[^\"\\]*\")", "", block)


def template_digest(text: str) -> str:
    """Return the digest of a chat template's text."""
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"

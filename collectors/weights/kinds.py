"""What kind of file it is: by its first bytes, and only where these say nothing by its name.

1. At most `HEAD` bytes of a file are looked at, and of a tensor file as many from its end.
2. A kind that can run code is a finding. So is a file whose bytes are of another kind than its name says.
3. An archive is recognized, and never opened.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

HEAD = 4096
TAIL = 66_000
"""An archive's directory ends within the longest comment it may have, 65,535 bytes, of the file's end."""

Kind = Literal[
    "safetensors", "gguf", "pickle", "pytorch-archive", "archive", "native-code", "code", "numpy", "keras-model",
    "json", "text", "image", "other",
]  # fmt: skip

_MAGIC: tuple[tuple[bytes, Kind], ...] = (
    (b"GGUF", "gguf"),
    (b"\x7fELF", "native-code"),
    (b"MZ", "native-code"),
    (b"\xfe\xed\xfa\xce", "native-code"),
    (b"\xfe\xed\xfa\xcf", "native-code"),
    (b"\xcf\xfa\xed\xfe", "native-code"),
    (b"\xca\xfe\xba\xbe", "native-code"),
    (b"\0asm", "native-code"),
    (b"!<arch>\n", "native-code"),
    (b"\x93NUMPY", "numpy"),
    (b"\x89HDF\r\n\x1a\n", "keras-model"),
    (b"\x1f\x8b", "archive"),
    (b"BZh", "archive"),
    (b"\xfd7zXZ\0", "archive"),
    (b"(\xb5/\xfd", "archive"),
    (b"7z\xbc\xaf\x27\x1c", "archive"),
    (b"Rar!\x1a\x07", "archive"),
    (b"\x89PNG\r\n", "image"),
    (b"\xff\xd8\xff", "image"),
    (b"GIF8", "image"),
    (b"#!", "code"),
    (b"<?php", "code"),
)
_ZIP = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
_PICKLE = re.compile(rb"\x80[\x02-\x05](?:[\x00-\xff]{8})?[\]}\(cX\x8c\x95KNGMJIS\x8a\x88\x89\x58)-]")
_OLD_PICKLE = re.compile(rb"[(\]}]*c[A-Za-z_][\w.]*\n[A-Za-z_][\w.]*\n")
_OBJECTS = re.compile(rb"'descr':\s*(?:\[|'[<>|=]?O)")

_BY_NAME: tuple[tuple[tuple[str, ...], Kind], ...] = (
    ((".safetensors",), "safetensors"),
    ((".gguf",), "gguf"),
    ((".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".joblib", ".dill"), "pickle"),
    ((".npy", ".npz"), "numpy"),
    ((".h5", ".hdf5", ".keras"), "keras-model"),
    ((".so", ".dll", ".dylib", ".exe", ".pyd", ".wasm", ".cubin", ".ptx", ".fatbin"), "native-code"),
    (
        (".py", ".pyc", ".pyx", ".sh", ".bash", ".bat", ".ps1", ".js", ".mjs", ".rb", ".pl", ".lua", ".ipynb", ".pth",
         ".c", ".cc", ".cpp", ".cu", ".cuh", ".h", ".rs", ".go", ".php"),
        "code",
    ),
    ((".zip", ".tar", ".tgz", ".gz", ".xz", ".bz2", ".7z", ".rar", ".whl", ".egg", ".nemo"), "archive"),
    ((".json",), "json"),
    ((".txt", ".md", ".jinja", ".yaml", ".yml", ".csv", ".model", ".tiktoken", ".vocab", ".jsonl"), "text"),
    ((".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg", ".pdf"), "image"),
)  # fmt: skip
_LOADED_BLINDLY = (".bin", ".pdparams", ".msgpack", ".ot")

_FINDINGS: dict[Kind, str] = {
    "pickle": "pickle",
    "pytorch-archive": "pytorch-archive",
    "archive": "archive",
    "native-code": "native-code",
    "code": "code",
    "keras-model": "keras-model",
}
_CONTAINERS = frozenset({"safetensors", "gguf"})


def kind_of(name: str, head: bytes) -> Kind:
    """Return what a file with this name and these first bytes is."""
    return _by_bytes(head) or _by_name(name)


def kind_findings(name: str, head: bytes) -> Iterator[str]:
    """Yield what a file's kind is a finding for (rule 2)."""
    found, named = kind_of(name, head), _by_name(name)
    if found in _FINDINGS:
        yield _FINDINGS[found]
    elif found == "numpy" and (_OBJECTS.search(head) or not head.startswith(b"\x93NUMPY")):
        yield "numpy-objects"
    elif found == "other" and name.lower().endswith(_LOADED_BLINDLY):
        yield "pickle-suspected"
    is_tensors = named in _CONTAINERS or found in _CONTAINERS
    is_harmless = named in ("json", "text", "image") and found in _FINDINGS
    if (is_tensors and found != named) or is_harmless:
        yield "disguised"


def ends_as_archive(tail: bytes) -> bool:
    """Say whether the last bytes of a file are the end of a zip archive (APPNOTE 4.3.16)."""
    at = tail.rfind(b"PK\x05\x06")
    while at >= 0:
        record = tail[at : at + 22]
        if len(record) == 22 and at + 22 + int.from_bytes(record[20:22], "little") == len(tail):
            return True
        at = tail.rfind(b"PK\x05\x06", 0, at)
    return False


def _by_bytes(head: bytes) -> Kind | None:
    if head.startswith(_ZIP):
        return "pytorch-archive" if b".pkl" in head or b"/data/" in head else "archive"
    if _PICKLE.match(head) or _OLD_PICKLE.match(head):
        return "pickle"
    if head[257:262] == b"ustar":
        return "archive"
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    return "safetensors" if head[8:10] in (b'{"', b"{}") and head[5:8] == b"\0\0\0" else None


def _by_name(name: str) -> Kind:
    lower = name.lower()
    return next((kind for ends, kind in _BY_NAME if lower.endswith(ends)), "other")

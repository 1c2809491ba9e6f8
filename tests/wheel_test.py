"""Ship what is tested: the wheel, built from the source distribution, in a bare environment.

Run as a program (`make wheel-test`). It builds both distributions, compares what is in them with the
folders, installs the wheel with its run-time dependencies only, at the versions of constraints.txt, and
uses it as a person would, from a folder that has nothing to do with the checkout.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("ledger", "collectors", "projections", "templates", "recipes")
DEVELOPMENT = ("pytest", "hypothesis", "mypy", "rfc8785")
ORIGIN = "wheel.test.invalid"


def run(*argv: str | Path, cwd: Path, **env: str) -> str:
    """Run a command and return its output; end the test with all it printed when it fails."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("ANVIL_", "PYTHONPATH"))
    }
    done = subprocess.run(
        [str(arg) for arg in argv],
        cwd=cwd,
        env=kept | env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode != 0:
        sys.exit(f"wheel: `{' '.join(str(arg) for arg in argv)}` exits {done.returncode}\n{done.stdout}")
    return done.stdout


def expect(found: object, expected: object, what: str) -> None:
    if found != expected:
        sys.exit(f"wheel: {what}: expected {expected}, found {found}")


def tracked(*folders: str) -> set[str]:
    """Return the files of some folders as git would commit them, those not yet added included."""
    listed = run("git", "ls-files", "--cached", "--others", "--exclude-standard", *folders, cwd=ROOT)
    return {name for name in listed.splitlines() if (ROOT / name).is_file()}


def build(into: Path) -> tuple[Path, Path]:
    """Build the source distribution, and the wheel from it; return both."""
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", into, ROOT, cwd=into)
    (sdist,), (wheel,) = into.glob("*.tar.gz"), into.glob("*.whl")
    return sdist, wheel


def check_contents(sdist: Path, wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        licences = [name for name in archive.namelist() if name.endswith("licenses/LICENSE")]
    expect(names, {f"anvil/{name}" for name in tracked(*FOLDERS)}, "files in the wheel")
    expect(len(licences), 1, "licences in the wheel")
    with tarfile.open(sdist) as tar:
        inside = {str(PurePosixPath(*PurePosixPath(name).parts[1:])) for name in tar.getnames()}
    wanted = tracked(*FOLDERS, "tests", "docs") | {"pyproject.toml", "README.md", "LICENSE"}
    expect(wanted - inside, set(), "files missing from the source distribution")


def install(wheel: Path, environment: Path) -> Path:
    """Make a bare environment, install the wheel at the locked versions; return its `bin`."""
    venv.create(environment, with_pip=True)
    pins = re.findall(r"^[a-z0-9][^\\\n]*", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    constraints = environment / "constraints.txt"
    constraints.write_text("\n".join(pins))
    pip = (environment / "bin/python", "-m", "pip", "--disable-pip-version-check")
    run(*pip, "install", "--quiet", "--constraint", constraints, wheel, cwd=environment)
    run(*pip, "check", cwd=environment)
    return environment / "bin"


def use(programs: Path, elsewhere: Path) -> None:
    """Use the installed command from an unrelated folder, with a home of its own."""
    home = {
        "HOME": str(elsewhere),
        "ANVIL_STATE": str(elsewhere / "state"),
        "ANVIL_KEYS": str(elsewhere / "keys"),
    }
    python = (programs / "python", "-c")
    for name in DEVELOPMENT:
        found = run(*python, f"import importlib.util as u; print(u.find_spec({name!r}))", cwd=elsewhere)
        expect(found.strip(), "None", f"{name}, which is for development only")
    for name in FOLDERS:
        code = f"import importlib.resources as r; print(any(r.files('anvil.{name}').iterdir()))"
        expect(run(*python, code, cwd=elsewhere).strip(), "True", f"anything in anvil.{name}")

    anvil = programs / "anvil"
    run(anvil, "--help", cwd=elsewhere, **home)
    run(anvil, "init", "--origin", ORIGIN, cwd=elsewhere, **home)
    run(
        anvil, "observe", "the wheel works", "--status", "operator-observed-incomplete", cwd=elsewhere, **home
    )
    run(anvil, "verify", cwd=elsewhere, **home)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="anvil-wheel-") as name:
        work = Path(name).resolve()
        for folder in ("dist", "elsewhere"):
            (work / folder).mkdir()
        sdist, wheel = build(work / "dist")
        check_contents(sdist, wheel)
        use(install(wheel, work / "venv"), work / "elsewhere")
    print(f"wheel: ok ({wheel.name})")


if __name__ == "__main__":
    main()

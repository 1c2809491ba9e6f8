"""The independent verifier in Go, `tests/go/tlogverify.go`, built from Debian's packages without a network."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from support.tools import GOPATH, ROOT

SOURCE = ROOT / "tests" / "go" / "tlogverify.go"


class TlogVerify:
    """The built program; a test asks for it with the `tlogverify` fixture and `needs("go")`."""

    def __init__(self, program: Path) -> None:
        self._program = program

    @classmethod
    def build(cls, directory: Path) -> TlogVerify:
        """Build the program in `directory`, in GOPATH mode: no module is looked for anywhere else."""
        program = directory / "tlogverify"
        environment = {
            **os.environ,
            "GO111MODULE": "off",
            "GOPATH": str(GOPATH),
            "GOFLAGS": "",
            "GOPROXY": "off",
        }
        argv = ["go", "build", "-o", str(program), str(SOURCE)]
        done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return cls(program)

    def log(self, directory: Path) -> str:
        """Return what it says about a log on disk: a line that begins with OK or FAIL."""
        return self._run("-exact", str(directory))

    def proof(self, vkey: Path, proof: Path, entry: Path) -> str:
        """Return what it says about a tlog-proof: a line that begins with OK or FAIL."""
        return self._run("-vkey", str(vkey), "-proof", str(proof), "-entry", str(entry))

    def _run(self, *arguments: str) -> str:
        argv = [str(self._program), *arguments]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=300)
        verdict = done.stdout.split(" ", 1)[0].strip()
        assert (done.returncode, verdict) in ((0, "OK"), (1, "FAIL")), done.stdout + done.stderr
        return done.stdout.strip()

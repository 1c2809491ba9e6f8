"""`make evidence`: imports the raw files of five campaigns and prints which published figures come out again."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from support.tools import EVIDENCE

from evidence.campaigns import CAMPAIGNS
from evidence.taking import Line, take_in


def told(line: Line) -> str:
    """Return a line of the table."""
    verdict = "match" if line.is_match else f"MISMATCH{' (as it must)' if line.is_right else ''}"
    return f"{verdict:<10} {line.what:<78} {line.published[:18]:>18} {line.ours[:18]:>18}  {line.rule}"


def main() -> int:
    """Print the table; 0 when every figure is what it must be."""
    if not EVIDENCE.is_dir():
        print(f"make evidence: {EVIDENCE} is not there; nothing was made again", file=sys.stderr)
        return 3
    wrong = 0
    with tempfile.TemporaryDirectory() as work:
        for name, lines_of in CAMPAIGNS.items():
            folder = take_in(EVIDENCE / name, Path(work))
            lines = list(lines_of(folder))
            matches = sum(line.is_match for line in lines)
            wrong += sum(not line.is_right for line in lines)
            print(f"\n{name}: {len(folder.said)} files imported, {matches} of {len(lines)} figures match")
            if folder.left:
                print(f"  of no known kind: {', '.join(folder.left)}")
            for line in lines:
                print(f"  {told(line)}")
    print(f"\n{wrong} figures are not what they must be" if wrong else "\nevery figure is what it must be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

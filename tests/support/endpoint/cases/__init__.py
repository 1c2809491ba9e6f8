"""Misbehaviours by name: what is sent, to the byte and the moment.

The numbers are those of the project's list of stream and usage cases. `Case.body` is what is sent of the
body before anything bad happens, for tests of readers that need no socket.
"""

from support.endpoint.cases import counts, ends, errors, sizes, streams, toolcalls  # they fill the table
from support.endpoint.cases.table import CASES, Case, case

__all__ = ["CASES", "Case", "case", "counts", "ends", "errors", "sizes", "streams", "toolcalls"]

"""Tool calls, put together from the pieces in which they come.

1. A piece with an index belongs to the call of that index; calls stand in the order of their indexes.
2. A piece without one belongs to the call of its id; with a new id, or a name where the last call has one
   already, it begins a call; otherwise it belongs to the last call.
3. An index that comes again with another id *and* a name begins another call: some servers number every
   call 0. Another id alone is noted: others send a new one with each piece.
4. A name comes whole or in pieces; one that only repeats is taken once. Arguments are joined as they came.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from anvil.collectors.interface import ToolCall

_LARGEST_INDEX = 10_000


@dataclass
class _Call:
    position: tuple[int, int]
    call_id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class Calls:
    """Takes the pieces of tool calls. `warn` is told what was odd, `heard` of each piece that says something."""

    def __init__(self, warn: Callable[[str], None], heard: Callable[[], None]) -> None:
        self._warn = warn
        self._heard = heard
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._by_id: dict[str, _Call] = {}

    def take(self, pieces: object, malform: Callable[[str], None], *, streamed: bool) -> None:
        """Take the `tool_calls` of a message or a delta; `malform` is told what cannot be one."""
        if pieces is None:
            return
        if not isinstance(pieces, list):
            malform(f"`tool_calls` is no array but {type(pieces).__name__}")
            return
        for piece in pieces:
            function = (piece.get("function") or {}) if isinstance(piece, dict) else None
            if not isinstance(function, dict):
                malform("a tool call is no object with a `function`")
                continue
            self._take(piece, function, malform, streamed=streamed)

    def put_together(self) -> tuple[ToolCall, ...]:
        """Return the calls in order."""
        made = []
        for call in sorted(self._calls, key=lambda call: call.position):
            arguments = "".join(call.arguments)
            half = len(arguments) // 2
            if half > 1 and arguments[:half] == arguments[half:] and arguments[:1] == "{":
                self._warn("tool_arguments_repeated")
            made.append(ToolCall(call.call_id or None, call.name, arguments))
        return tuple(made)

    def _take(
        self,
        piece: dict[str, Any],
        function: dict[str, Any],
        malform: Callable[[str], None],
        *,
        streamed: bool,
    ) -> None:
        call_id, name, index = piece.get("id") or "", function.get("name") or "", piece.get("index")
        if not isinstance(call_id, str) or not isinstance(name, str):
            malform("a tool call's `id` or `name` is no text")
            return
        if index is not None and (type(index) is not int or not 0 <= index <= _LARGEST_INDEX):
            malform("a tool call's `index` is no index")
            return
        # In a whole message each piece is a call; nobody has to say which.
        call = self._find(index, call_id, name) if streamed else self._begin(len(self._calls), call_id)
        if call.name != name:
            call.name += name
        arguments = function.get("arguments")
        if name or arguments:
            self._heard()
        if isinstance(arguments, str):
            call.arguments.append(arguments)
        elif arguments is not None:
            self._warn("tool_arguments_not_text")
            call.arguments.append(json.dumps(arguments, ensure_ascii=False))

    def _find(self, index: int | None, call_id: str, name: str) -> _Call:
        if index is None:
            return self._find_without_index(call_id, name)
        call = self._by_index.get(index)
        if call is None:
            return self._begin(index, call_id)
        if call_id and call.call_id and call_id != call.call_id:
            if name:
                self._warn("tool_index_reused")
                return self._begin(index, call_id)
            self._warn("tool_id_changes")
        call.call_id = call.call_id or call_id
        return call

    def _find_without_index(self, call_id: str, name: str) -> _Call:
        self._warn("tool_index_missing")
        if call_id and call_id in self._by_id:
            return self._by_id[call_id]
        last = self._calls[-1] if self._calls else None
        if last is None or call_id or (name and last.name):
            return self._begin(len(self._calls), call_id)
        return last

    def _begin(self, index: int, call_id: str) -> _Call:
        call = _Call((index, len(self._calls)), call_id)
        self._calls.append(call)
        self._by_index[index] = call
        self._by_id.setdefault(call_id, call)
        return call

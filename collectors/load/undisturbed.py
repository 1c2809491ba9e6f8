"""What would disturb a loop while it runs: the collector of garbage, and an interrupt from the keyboard."""

from __future__ import annotations

import gc
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event


@contextmanager
def interrupts_to(stop: Event) -> Iterator[None]:
    """Let an interrupt from the keyboard set `stop`, where this thread is the one that would get it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, lambda _number, _frame: stop.set())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def no_collection() -> Iterator[None]:
    """Keep the collector of garbage from stopping the loop."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()

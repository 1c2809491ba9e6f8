"""What a ledger remembers between two appends is never more than what is in the database."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import faults

from anvil.ledger import recording
from anvil.ledger.drafts import Draft
from anvil.ledger.errors import LedgerError, RolledBack
from anvil.ledger.events import StreamAbandoned, build
from anvil.ledger.keychanges import add_key
from anvil.ledger.recording import Ledger
from anvil.ledger.redaction import redact
from anvil.ledger.signing import PrivateKey
from anvil.ledger.store import Store
from anvil.ledger.streams import Stream, record


class Trip:
    """Makes a method of the store fail, or do something first, a given number of times."""

    def __init__(self, patch: pytest.MonkeyPatch, method: str, action: Callable[[], None], times: int = 1):
        self.left = times
        original = getattr(Store, method)

        def tripped(*arguments: Any, **more: Any) -> Any:
            if self.left:
                self.left -= 1
                action()
            return original(*arguments, **more)

        patch.setattr(Store, method, tripped)


def fail() -> None:
    raise LedgerError("the disk is full")


def interrupt() -> None:
    raise KeyboardInterrupt


def not_permitted() -> Draft:
    """An event that an operator's key may not sign, and that nothing before the write lock refuses."""
    return Draft(
        build(
            StreamAbandoned,
            {"abandoned": "none", "last_seq": 0, "last_header": "00" * 32, "reason": "crashed"},
        )
    )


def test_a_failed_append_leaves_no_leaf_behind_in_memory(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One append fails after its leaf was added to the tree, then another process appends as many events:
    the sizes agree, and a checkpoint over the remembered tree would be signed over a leaf that is not there."""
    with Ledger.open(place) as one, Ledger.open(place) as two:
        streams = [Stream.start(ledger, ledger.signer("operator"), purpose="run") for ledger in (one, two)]
        with monkeypatch.context() as patch:
            Trip(patch, "insert_openings", fail)
            with pytest.raises(LedgerError, match="full"):
                streams[0].append([faults.said("never recorded")])
        streams[1].append([faults.said("recorded by another")])
        one.checkpoint()
        for stream in streams:
            stream.close()
    assert faults.require_sound(place).findings == []


def test_a_stream_goes_on_after_an_append_of_several_was_refused(place: Path) -> None:
    """The first of the refused events must not be remembered as the stream's last one."""
    with Ledger.open(place) as ledger:
        stream = Stream.start(ledger, ledger.signer("operator"), purpose="run")
        with pytest.raises(LedgerError):
            stream.append([faults.said("good"), not_permitted()])
        stream.append([faults.said("the next one")])
        stream.close()
    assert faults.require_sound(place).findings == []


def test_a_key_event_of_a_failed_append_is_forgotten(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Ledger.open(place) as ledger:
        before = ledger.keyring()
        Trip(monkeypatch, "insert_openings", fail)
        with pytest.raises(LedgerError, match="full"):
            add_key(ledger, "operator", PrivateKey.generate())
        assert ledger.keyring() == before


@pytest.mark.parametrize("closing", [False, True])
def test_an_interrupt_right_after_the_commit_does_not_break_the_stream(
    place: Path, monkeypatch: pytest.MonkeyPatch, closing: bool
) -> None:
    """Ctrl-C during the flush is raised when the commit has succeeded: the events are in the log."""
    with Ledger.open(place) as ledger:
        stream = Stream.start(ledger, ledger.signer("operator"), purpose="run")
        with monkeypatch.context() as patch:
            patch.setattr(ledger, "_publish_soon", interrupt)
            with pytest.raises(KeyboardInterrupt):
                stream.close() if closing else stream.append([faults.said("committed")])
        assert faults.size(place) == 4
        stream.close("interrupted")
        assert not stream.is_open
    assert faults.require_sound(place).findings == []


def test_an_interrupt_while_waiting_for_the_lock_lets_go_of_it(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while BEGIN waits is raised when BEGIN has returned: the transaction has begun by then."""
    with Ledger.open(place) as ledger:
        stream = Stream.start(ledger, ledger.signer("operator"), purpose="run")
        execute = ledger.store._db.execute

        def interrupted(sql: str, *values: Any) -> Any:
            execute(sql, *values)
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(ledger.store._db, "execute", interrupted)
            with pytest.raises(KeyboardInterrupt):
                stream.append([faults.said("interrupted")])
        faults.observe(place, "another process gets the lock").done()
        stream.close("interrupted")
    assert faults.require_sound(place).size == 7


def test_a_transaction_inside_another_is_refused_and_the_outer_one_stands(place: Path) -> None:
    with Ledger.open(place) as ledger:
        before = ledger.store.size()
        store = ledger.store

        def outer() -> None:
            with store.transaction():
                store.insert_checkpoint(1000, b"never kept")
                for inner in (store.snapshot(), store.transaction()):
                    with pytest.raises(LedgerError, match="under way"), inner:
                        pass
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            outer()
        assert [at for at, _ in ledger.store.checkpoints()] == [before]


# --- the timer ---------------------------------------------------------------------------------------


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """An anchor that follows after a hundredth of a second."""
    monkeypatch.setattr(recording, "ANCHOR_DELAY_S", 0.01)


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.usefixtures("quick")
def test_the_anchor_follows_while_a_ledger_is_open(place: Path) -> None:
    with Ledger.open(place) as ledger:
        stream = Stream.start(ledger, ledger.signer("operator"), purpose="run")
        for number in range(3):
            stream.append([faults.said(str(number))])
            wait_for(lambda: faults.anchored_size(place) == faults.size(place))
        stream.close()


@pytest.mark.usefixtures("quick")
def test_a_failure_of_the_timer_is_told_at_the_next_append_and_made_good_at_the_end(
    place: Path, home: Path
) -> None:
    state = home / "state"
    with Ledger.open(place) as ledger:
        stream = Stream.start(ledger, ledger.signer("operator"), purpose="run")
        wait_for(lambda: faults.anchored_size(place) == 3)
        state.rename(home / "gone")
        state.write_text("a file where a directory must be")
        stream.append([faults.said("recorded, not anchored")])
        wait_for(lambda: ledger._publishing_failed is not None)
        with pytest.raises(LedgerError, match="could not be signed and anchored"):
            stream.append([faults.said("refused")])
        with ledger.undisturbed():  # else the timer may make the directory anew in between
            state.unlink()
            (home / "gone").rename(state)
    assert faults.anchored_size(place) == faults.size(place) == 4
    faults.require_sound(place)


@pytest.mark.usefixtures("quick")
def test_a_failure_of_the_timer_is_told_at_close(place: Path, home: Path) -> None:
    state = home / "state"
    ledger = Ledger.open(place)
    stream = Stream.start(ledger, ledger.signer("operator"), purpose="run")
    wait_for(lambda: faults.anchored_size(place) == 3)
    with ledger.undisturbed():  # the timer's thread has let go of the anchor
        state.rename(home / "gone")
        state.write_text("")
    stream.append([faults.said("recorded, not anchored")])
    wait_for(lambda: ledger._publishing_failed is not None)
    with pytest.raises(LedgerError, match="anchor"):
        ledger.close()
    ledger.close()  # twice is no error, and the error was told
    state.unlink()
    (home / "gone").rename(state)
    assert faults.observe(place, "the next command finishes").code == 0
    assert faults.anchored_size(place) == faults.size(place)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("method", ["delete_openings", "scrub"])
def test_the_timer_does_not_get_between_the_steps_of_a_redaction(
    place: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """Both use one connection; a redaction of a large ledger takes longer than the timer waits."""
    with Ledger.open(place) as ledger:
        index = record(
            ledger, ledger.signer("operator"), [faults.secret(ledger, "a secret", b"a blob")], purpose="run"
        )[0].index
        Trip(monkeypatch, method, lambda: time.sleep(0.2))
        redact(ledger, [index], "It was secret.")
        record(ledger, ledger.signer("operator"), [faults.said("the next one")], purpose="run")
    faults.require_sound(place, "redacted")


@pytest.mark.usefixtures("quick")
def test_the_timer_does_not_get_into_a_backup(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from anvil.ledger.backup import back_up

    with Ledger.open(place) as ledger:
        record(ledger, ledger.signer("operator"), [faults.said("one")], purpose="run")
        read = Store.latest_checkpoint

        def slowly(store: Store) -> bytes | None:  # the timer's thread is in the middle of its snapshot
            if threading.current_thread() is not threading.main_thread():
                time.sleep(0.2)
            return read(store)

        monkeypatch.setattr(Store, "latest_checkpoint", slowly)
        time.sleep(0.02)
        back_up(ledger, tmp_path / "copy.db")
        record(ledger, ledger.signer("operator"), [faults.said("two")], purpose="run")
    faults.require_sound(place)


# --- several processes -------------------------------------------------------------------------------


def test_an_append_between_reading_size_and_anchor_is_no_rollback(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process appends and anchors while this one opens the ledger."""
    other = Ledger.open(place)

    def append() -> None:
        record(other, other.signer("operator"), [faults.said("meanwhile")], purpose="run")
        other.checkpoint()

    read = Store.size

    def size(store: Store) -> int:
        found = read(store)
        if store is not other.store and not done:
            done.append(True)
            append()
        return found

    done: list[bool] = []
    monkeypatch.setattr(Store, "size", size)
    with Ledger.open(place) as ledger:
        record(ledger, ledger.signer("operator"), [faults.said("next")], purpose="run")
    other.close()
    assert faults.require_sound(place).findings == []


def test_verifying_while_others_append_finds_nothing(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint that was stored after the size was read is no rollback."""
    other = Ledger.open(place)
    read = Store.schema_differences

    def schema_differences(store: Store) -> list[str]:
        record(other, other.signer("operator"), [faults.said("meanwhile")] * 300, purpose="run")
        other.checkpoint()
        return read(store)

    monkeypatch.setattr(Store, "schema_differences", schema_differences)
    assert faults.require_sound(place).findings == []
    other.close()


def test_nothing_is_signed_by_a_process_whose_database_lost_its_end(place: Path, tmp_path: Path) -> None:
    """The database is replaced by an older copy under an open ledger; its checkpoint must not be signed."""
    from anvil.ledger.sqlite import sqlite3

    with Ledger.open(place) as ledger:
        record(ledger, ledger.signer("operator"), [faults.said("one")] * 3, purpose="run")
    older = tmp_path / "older.db"
    older.write_bytes((place / "ledger.db").read_bytes())
    with Ledger.open(place) as ledger:
        record(ledger, ledger.signer("operator"), [faults.said("two")] * 3, purpose="run")
    ledger = Ledger.open(place)
    source = sqlite3.connect(older)
    target = sqlite3.connect(place / "ledger.db")
    source.backup(target)  # overwrites every page in one transaction, under the other connection
    source.close()
    target.close()
    record(ledger, ledger.signer("operator"), [faults.said("a second history")], purpose="run")
    with pytest.raises(RolledBack, match="12 entries had been signed for, the database holds 10"):
        ledger.checkpoint()
    with faults.reading(place) as store:
        assert [at for at, _ in store.checkpoints()] == [2, 7]
    with pytest.raises(RolledBack):
        ledger.close()

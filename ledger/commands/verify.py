"""`anvil verify`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from anvil.ledger.anchor import Anchor, Anchored
from anvil.ledger.commands.output import (
    answer,
    answer_json,
    json_option,
    place,
    progress,
    say,
    spell,
    table,
    visible,
)
from anvil.ledger.commands.proofs import verify_proof
from anvil.ledger.commands.verifierkeys import (
    GivenKey,
    VerifierKeyParam,
    checkpoint_comes_along,
    key_comes_along,
)
from anvil.ledger.errors import CannotVerify, LedgerError, StoreDamaged
from anvil.ledger.files import open_plain, write_whole
from anvil.ledger.folders import CHECKPOINT, how_to_verify, instead_of
from anvil.ledger.note import VerifierKey
from anvil.ledger.places import LedgerPlace, state_directory
from anvil.ledger.sources import DatabaseLocation, Location, TilesLocation
from anvil.ledger.verifierstate import VerifierState
from anvil.ledger.verify import Expectations, Report
from anvil.ledger.verify import verify as verify_ledger
from anvil.ledger.wording import counted

_LONGEST_KEY = 4096

_file = click.Path(path_type=Path, dir_okay=False)
_directory = click.Path(path_type=Path, exists=True, file_okay=False)


def _require_no_folder(_ctx: click.Context, _param: click.Parameter, file: Path | None) -> Path | None:
    """Refuse a folder as FILE, and say how it is checked."""
    if file is None or not file.is_dir():
        return file
    how = how_to_verify(file) or (
        "For a folder there are --ledger, --publication and --tiles: expected ledger.db, manifest.json or a checkpoint "
        "in it, found none of them."
    )
    raise click.UsageError(f"{file} is a folder, and FILE is one file that `anvil backup` wrote. {how}")


@click.command()
@click.argument(
    "file", type=click.Path(path_type=Path, exists=True), required=False, callback=_require_no_folder
)
@click.option(
    "--key",
    "given",
    type=VerifierKeyParam(),
    help="The ledger's public key, as text or as a file; not from the folder that it checks.",
)
@click.option("--tiles", type=_directory, help="Check exported files in this directory; needs --key.")
@click.option(
    "--blobs",
    type=_directory,
    help="With --tiles or FILE: where the artifacts are, if not among the files or in blobs/ beside FILE.",
)
@click.option(
    "--since", type=_file, help="Read only what is new since this file of yours; it is made when absent."
)
@click.option(
    "--checkpoint", "pinned", type=_file, help="A checkpoint that was kept: the log must contain it."
)
@click.option(
    "--structure", is_flag=True, help="Leave out the signatures of events, which take most of the time."
)
@click.option("--proof", type=_file, help="Check what `anvil prove` wrote; needs --entry and --key.")
@click.option("--entry", type=_file, help="With --proof: the entry that is to be in the log.")
@click.option(
    "--publication", type=_directory, help="Check a published folder; needs --key, and nothing else at hand."
)
@click.option(
    "--recompute/--no-recompute",
    default=None,
    help="With --publication: make the document again from its events and rows, or leave that out "
    "(default: make it).",
)
@click.option("--workers", type=click.IntRange(1), help="Processes (default: one for each core).")
@json_option
def verify(
    file: Path | None,
    given: GivenKey | None,
    tiles: Path | None,
    blobs: Path | None,
    since: Path | None,
    pinned: Path | None,
    structure: bool,
    proof: Path | None,
    entry: Path | None,
    publication: Path | None,
    recompute: bool | None,
    workers: int | None,
    as_json: bool,
) -> None:
    """Check a ledger, files exported from one, or a publication.

    FILE is what `anvil backup` wrote. A backup older than the ledger it was made of is no rollback, and this
    machine's anchor then says nothing about it: give --checkpoint, one that was kept when it was made. Nothing is changed by it. Exit codes: 0 verified; 1 something is wrong; 2 used wrongly; 3 could not be
    checked, or nothing outside the ledger says how far it had come (unanchored); 4 rolled back, or two
    histories.

    \b
    Examples:
      anvil verify
      anvil verify monday.db --checkpoint kept-on-monday.checkpoint
      anvil verify --tiles for-the-auditor/ --key log.vkey \\
        --checkpoint kept.checkpoint
      anvil verify --proof 9.tlog-proof --entry 9.entry --key log.vkey
      anvil verify --publication published/ --key log.vkey
    """
    key = None if given is None else given.key
    if proof is not None or entry is not None:
        if (
            proof is None
            or entry is None
            or key is None
            or any((file, tiles, blobs, since, pinned, structure))
        ):
            raise click.UsageError("--proof, --entry and --key go together, and with no other check.")
        click.get_current_context().exit(verify_proof(proof, entry, key, as_json=as_json))
    if publication is not None or recompute is not None:
        others = any((tiles, blobs, since, pinned, structure))
        click.get_current_context().exit(_publication(publication, given, recompute, as_json, others=others))
    if tiles is not None and key is None:
        raise click.UsageError("--tiles needs --key: files cannot vouch for themselves.")
    if file is not None and tiles is not None:
        raise click.UsageError("FILE and --tiles are two ledgers: check one after the other.")
    if blobs is not None and tiles is None and file is None:
        raise click.UsageError("--blobs goes with --tiles or FILE.")
    folder = tiles if tiles is not None else place().directory if file is None else None
    is_along, is_pinned_along = key_comes_along(given, folder), checkpoint_comes_along(pinned, folder)
    try:
        location, expectations = _ask(
            _location(file, tiles, blobs), key, since, pinned, is_copy=file is not None
        )
        with progress("verifying") as show:
            report = verify_ledger(
                location, expectations, signatures=not structure, workers=workers, progress=show
            )
    except LedgerError as error:
        raise CannotVerify(
            f"nothing was verified: {error}", advice=instead_of(tiles, CHECKPOINT) or error.advice
        ) from error
    if since is not None and report.state is not None and report.exit_code in (0, 3):
        _keep(since, report.state)
    if as_json:
        along = {"key_from_folder": is_along, "checkpoint_from_folder": is_pinned_along}
        answer_json("anvil.verify/1", {**_members(report), **along})
    else:
        _print(report)
    click.get_current_context().exit(report.exit_code)


def _publication(
    folder: Path | None, given: GivenKey | None, recompute: bool | None, as_json: bool, *, others: bool
) -> int:
    if folder is None:
        raise click.UsageError("--recompute and --no-recompute go with --publication.")
    if given is None or others:
        raise click.UsageError("--publication goes with --key, and with no other check.")
    from anvil.ledger.commands.publications import verify_folder

    return verify_folder(folder, given, recompute=recompute is not False, as_json=as_json)


def _keep(path: Path, state: VerifierState) -> None:
    try:
        write_whole(path, state.encode(), mode=0o600)
    except LedgerError as error:  # nothing is wrong with the ledger, which exit code 1 would say
        message = f"the ledger was checked, and how far could not be kept: {error}"
        raise CannotVerify(message, advice=error.advice) from error


def _location(file: Path | None, tiles: Path | None, blobs: Path | None) -> Location:
    if tiles is not None:
        return TilesLocation(tiles, blobs)
    if file is None:
        return DatabaseLocation.of(place())
    beside = file.parent / "blobs"
    return DatabaseLocation(file, blobs or (beside if beside.is_dir() else None))


def _ask(
    location: Location, key: VerifierKey | None, since: Path | None, pinned: Path | None, *, is_copy: bool
) -> tuple[Location, Expectations]:
    keys: tuple[VerifierKey, ...] = () if key is None else (key,)
    anchored = None
    if isinstance(location, DatabaseLocation):
        keys, anchored = _known_here(location, keys, is_copy=is_copy)
    state = None
    if since is not None and since.exists():
        state = VerifierState.parse(since.read_bytes())
    elif since is not None:
        say(f"{since} does not exist yet: everything is read, and it is written.")
    note = None if pinned is None else _read(pinned)
    return location, Expectations(keys, anchored, state, note)


def _known_here(
    location: DatabaseLocation, keys: tuple[VerifierKey, ...], *, is_copy: bool
) -> tuple[tuple[VerifierKey, ...], Anchored | None]:
    """Return what this machine knows about the ledger: its anchor, and the public key beside it.

    Of a copy that is older than the anchor it knows nothing: that one was left behind, and not rolled back.
    """
    try:
        source = location.open()
    except StoreDamaged:
        return keys, None  # verification says what is wrong
    try:
        origin, size = source.origin, source.size
    finally:
        source.close()
    anchored = Anchor(state_directory(), origin).read()
    if is_copy:
        if anchored is not None and anchored.checkpoint.size > size:
            say(
                f"This copy has {counted(size, 'entry')}; the ledger that it was made of has come to more since."
            )
            anchored = None
        return keys, anchored
    beside = LedgerPlace(location.database.parent).verifier_key
    if not keys and beside.exists():
        try:
            with open_plain(beside) as file:
                keys = (VerifierKey.parse(file.read(_LONGEST_KEY).decode().strip()),)
        except OSError as error:
            raise CannotVerify(f"{beside} cannot be read: {error.strerror}") from error
        except (LedgerError, UnicodeDecodeError) as error:
            raise CannotVerify(f"{beside} holds no verifier key: {error}") from error
    return keys, anchored


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CannotVerify(f"{path} cannot be read: {error.strerror}") from error


def _print(report: Report) -> None:
    keys = [f"{key.fingerprint}" for key in report.verifier_keys] or ["not known"]
    begin = f", {report.begin} of them not read again" if report.begin else ""
    rows = [("Ledger", visible(report.origin)), ("Entries", f"{report.size}{begin}")]
    rows += [("Root", report.root.hex() or "not computed"), ("Public key", keys[-1])]
    rows += [("Signed up to", counted(report.checkpoint.size, "entry") if report.checkpoint else "not seen")]
    rows += [("Anchored by", ", ".join(report.anchored_by) or "nothing")]
    answer(table(rows))
    for finding in sorted(report.findings, key=lambda f: (f.severity == "note", f.index or 0)):
        answer("\n" + spell(finding))
    answer("\n" + _verdict(report))


def _verdict(report: Report) -> str:
    if report.exit_code == 0:
        checked = "" if report.signatures else ", signatures of events not checked"
        return f"Verified: {counted(report.size, 'entry')}{checked}."
    if report.exit_code == 3:
        return (
            f"Consistent up to {counted(report.size, 'entry')}. Whether there were more is not known here:\n"
            "give a kept checkpoint with --checkpoint, or your earlier state with --since."
        )
    failures = sum(1 for f in report.findings if f.severity in ("failure", "fatal"))
    return f"Not verified: {failures} finding{'s' if failures != 1 else ''}."


def _members(report: Report) -> dict[str, object]:
    return {
        "origin": report.origin,
        "size": report.size,
        "read_from": report.begin,
        "root": report.root.hex() or None,
        "verifier_keys": [str(key) for key in report.verifier_keys],
        "fingerprints": [key.fingerprint for key in report.verifier_keys],
        "checkpoint_size": report.checkpoint.size if report.checkpoint else None,
        "anchored_by": report.anchored_by,
        "signatures_checked": report.signatures,
        "exit_code": report.exit_code,
        "verified": report.exit_code == 0,
        "findings": [{"severity": f.severity, **asdict(f)} for f in report.findings],
    }

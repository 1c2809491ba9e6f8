"""`anvil verify --publication`: what a folder shows, and what no folder can."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from anvil.ledger.commands.output import answer, answer_json, spell, table, visible
from anvil.ledger.commands.verifierkeys import GivenKey, key_comes_along
from anvil.ledger.elsewhere import elsewhere
from anvil.ledger.errors import CannotVerify, LedgerError
from anvil.ledger.folders import instead_of
from anvil.ledger.publication import layout
from anvil.ledger.publication.verifying import NOT_PROVED, PublicationReport, verify_publication
from anvil.ledger.wording import counted


def verify_folder(folder: Path, given: GivenKey, *, recompute: bool, as_json: bool) -> int:
    """Check a publication, print the answer, and return the exit code: 0 or 1.

    Raises:
        CannotVerify: it is no publication.
    """
    is_along = key_comes_along(given, folder)
    try:
        report = verify_publication(folder, given.key, elsewhere("recompute") if recompute else None)
    except LedgerError as error:
        message = f"nothing was verified: {folder}: {error}"
        raise CannotVerify(message, advice=instead_of(folder, layout.MANIFEST) or error.advice) from error
    if as_json:
        answer_json("anvil.verify.publication/1", {**_members(report), "key_from_folder": is_along})
    else:
        _print(report)
    return report.exit_code


def _print(report: PublicationReport) -> None:
    rows = [("Public key", report.key.fingerprint)]
    if report.manifest is not None:
        about = report.manifest.about
        whom = "all candidates" if about.candidate is None else visible(about.candidate)
        rows += [("Document", f"{about.document}, {visible(about.campaign)}, {whom}")]
        rows += [("Ledger", f"{visible(about.fold.origin)}, {counted(about.fold.size, 'entry')}")]
        rows += [("Root", about.fold.root)]
        rows += [("Events", f"{report.events} of {counted(report.streams, 'stream')}")]
    if report.released is not None:
        rows += [("Released as", str(report.released_as))]
        rows += [
            ("Attempts", f"{report.released.attempts_shown} shown of {report.released.attempts_existing}")
        ]
        rows += [("Exceptions", str(len(report.released.exceptions)))]
    answer(table(rows))
    for finding in sorted(report.every_finding, key=lambda f: f.severity == "note"):
        answer("\n" + spell(finding))
    answer("")
    answer(table([("Authentic", _yes(report.is_authentic)), ("Supported", _yes(report.is_supported))]))
    answer(table([("Recomputed", _recomputed(report))]))
    answer("\nNot shown by any folder:")
    for sentence in NOT_PROVED:
        answer(f"- {sentence}")
    answer("\n" + _verdict(report))


def _yes(level: bool | None) -> str:
    return "not asked for" if level is None else "yes" if level else "NO"


def _recomputed(report: PublicationReport) -> str:
    if not report.recomputed:
        return _yes(report.recomputed)
    but = ", but NOT the pages" if report.pages_left_out else ""
    return f"yes{but}, with the bytes of {counted(report.read_again, 'artifact')}"


def _verdict(report: PublicationReport) -> str:
    if report.exit_code:
        return "Not verified."
    if report.withdrawn is not None:
        return "Verified, and withdrawn: it is not to be relied on."
    if report.pages_left_out:
        return (
            f"Verified, but for its pages: read {layout.DOCUMENT}, or verify with the anvil that released it."
        )
    return "Verified."


def _members(report: PublicationReport) -> dict[str, object]:
    about = None if report.manifest is None else report.manifest.about
    return {
        "verifier_key": str(report.key),
        "fingerprint": report.key.fingerprint,
        "document": None if about is None else about.document,
        "campaign": None if about is None else about.campaign,
        "candidate": None if about is None else about.candidate,
        "fold": None if about is None else about.fold.model_dump(mode="json"),
        "events": report.events,
        "streams": report.streams,
        "released_as": report.released_as,
        "attempts_shown": None if report.released is None else report.released.attempts_shown,
        "attempts_existing": None if report.released is None else report.released.attempts_existing,
        "exceptions": [] if report.released is None else list(report.released.exceptions),
        "withdrawn": None if report.withdrawn is None else report.withdrawn.reason,
        "authentic": report.is_authentic,
        "supported": report.is_supported,
        "recomputed": report.recomputed,
        "pages_left_out": report.pages_left_out,
        "artifacts_read_again": report.read_again,
        "not_proved": list(NOT_PROVED),
        "exit_code": report.exit_code,
        "verified": report.exit_code == 0,
        "findings": [{"severity": f.severity, **asdict(f)} for f in report.every_finding],
    }

"""What may be released: nothing synthetic, and nothing that the tripwire finds, wherever it stands."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from support.command import Anvil, Ran, run_here
from support.laguna import CAMPAIGN, CANDIDATE, Laguna, about, laguna, observation, recipe
from support.planted import PLANTED
from support.published_folders import DOCUMENT, size, vkey

from anvil.ledger.drafts import Draft
from anvil.ledger.events import (
    CaveatNoted,
    DecisionRecorded,
    EventRetracted,
    GapNoted,
    HostObserved,
    ObservationNoted,
    TripwireExcepted,
    WaiverGranted,
)
from anvil.ledger.events.recipes import DeclaredExperiment
from anvil.ledger.header import Subject
from anvil.ledger.note import VerifierKey
from anvil.ledger.products import PRODUCTS
from anvil.ledger.publication import layout
from anvil.ledger.publication.verifying import verify_publication
from anvil.projections.tripwire import scanning

OUT = ("--out", "published")


def refused(anvil: Anvil, made: Laguna, *says: str, secret: str = "") -> Ran:
    """Require that nothing leaves, that the message says where, and that it never says what."""
    before = size(made)
    ran = anvil("release", DOCUMENT, *OUT)
    assert ran.code == 1, ran.out
    for words in says:
        assert words in ran.err, ran.err
    assert not secret or secret not in ran.err
    assert not Path("published").exists()
    assert size(made) == before
    assert sorted(path.name for path in Path().iterdir()) == ["anvil-ledger"]
    return ran


def test_it_is_released_and_verifies(anvil: Anvil, made: Laguna) -> None:
    ran = anvil("release", DOCUMENT, *OUT, "--json")
    assert ran.code == 0, ran.err
    assert ran.json["schema"] == "anvil.release/1"
    again = anvil("verify", "--publication", "published", "--key", "anvil-ledger/log.vkey")
    assert again.code == 0, again.out
    for words in (
        "Authentic  yes",
        "Supported  yes",
        "Recomputed  yes",
        "Not shown by any folder",
        "6 shown of 6",
    ):
        assert words in again.out
    html, markdown = (Path("published") / name for name in layout.PAGES.values())
    for page in (html.read_text(), markdown.read_text()):
        assert vkey(made.place).fingerprint in page
        assert "A draft of" not in page
    assert anvil("verify").code == 0


def test_a_synthetic_ledger_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    laguna(tmp_path / "anvil-ledger")
    ran = run_here(capfdbinary, "release", DOCUMENT, *OUT)
    assert ran.code == 1
    assert "tests and demonstrations" in ran.err
    assert not Path("published").exists()


def test_a_collector_cannot_release(anvil: Anvil, made: Laguna, home: Path) -> None:
    for path in (home / "keys").rglob("operator*"):
        path.unlink()
    ran = anvil("release", DOCUMENT, *OUT)
    assert ran.code == 1
    assert "operator" in ran.err


# --- planted in each field that could carry it ------------------------------------------------------------------


def said(words: str) -> Draft:
    return Draft(ObservationNoted(status="declared", public_text=words, claims=None, text=None), about(0))


FIELDS: dict[str, Callable[[str], tuple[Draft, str]]] = {
    "a public text": lambda text: (said(text), "operator"),
    "a public text of another attempt": lambda text: (
        Draft(observation(4, "operator-observed-incomplete", text), about(4)),
        "operator",
    ),
    "a caveat": lambda text: (Draft(CaveatNoted(text=text, about=()), Subject(CAMPAIGN)), "operator"),
    "a gap": lambda text: (Draft(GapNoted(text=text), Subject(CAMPAIGN)), "operator"),
    "a decision": lambda text: (
        Draft(
            DecisionRecorded(verdicts=("rejected",), sentence=text, rests_on=("ab" * 32,), supersedes=None),
            Subject(CAMPAIGN, CANDIDATE),
        ),
        "operator",
    ),
}
SPELLED: dict[str, Callable[[str], str]] = {
    "plain": str,
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "percent-encoded": lambda text: quote(text, safe=""),
    "JSON-escaped": lambda text: "".join(f"\\u{ord(character):04x}" for character in text),
}


@pytest.mark.parametrize("spelling", SPELLED)
@pytest.mark.parametrize("field", FIELDS)
def test_what_is_planted_in_a_field_is_refused(anvil: Anvil, made: Laguna, field: str, spelling: str) -> None:
    text = SPELLED[spelling](PLANTED["home" if len(field) % 2 else "hf"])
    draft, role = FIELDS[field](f"It said {text} then.")
    made.add(draft, role=role)
    refused(anvil, made, "tripwire", secret=text)


@pytest.mark.parametrize("label", ["gpu-box.local", "node7.cluster.example.edu"])
def test_a_host_name_chosen_as_a_label_is_refused(anvil: Anvil, made: Laguna, label: str) -> None:
    words = ObservationNoted(status="declared", public_text="It ran.", claims=None, text=None)
    made.add(Draft(words, Subject(CAMPAIGN, CANDIDATE, label)))
    refused(anvil, made, "a label")


def test_an_event_that_no_leaf_shows_is_looked_at(anvil: Anvil, made: Laguna) -> None:
    """It goes along verbatim, so it leaves as well."""
    note = ObservationNoted(status="declared", public_text=f"key {PLANTED['nvidia']}", claims=None, text=None)
    made.add(Draft(note, Subject(CAMPAIGN, "another")))
    refused(anvil, made, "event 17, observation.noted/2 public_text", secret=PLANTED["nvidia"])


def test_what_is_planted_in_a_layout_is_refused(anvil: Anvil, made: Laguna) -> None:
    Path("mine.json.j2").write_text(
        f'{{# {PLANTED["github"]} #}}{{"schema": "mine/1", "model": {{{{ candidate.model }}}}}}'
    )
    before = size(made)
    ran = anvil("release", DOCUMENT, *OUT, "--template", "mine.json.j2")
    assert ran.code == 1
    assert "templates/own.json.j2" in ran.err
    assert size(made) == before
    assert not Path("published").exists()


def test_a_layout_of_ones_own_is_released_without_pages(anvil: Anvil, made: Laguna) -> None:
    Path("my-own-name.j2").write_text('{"schema": "mine/1", "model": {{ candidate.model }}}')
    assert anvil("release", DOCUMENT, *OUT, "--template", "my-own-name.j2").code == 0
    assert sorted(path.name for path in Path("published").rglob("*.j2")) == ["own.json.j2"]
    report = anvil("verify", "--publication", "published", "--key", "anvil-ledger/log.vkey", "--json")
    assert report.code == 0, report.out
    assert report.json["recomputed"] is True


# --- canaries ---------------------------------------------------------------------------------------------------


def sealed_host(made: Laguna, name: str) -> None:
    host = HostObserved(
        moment="before",
        cpu_product=None,
        cpu_cores=1,
        memory_bytes=1,
        available_memory_bytes=None,
        kernel=None,
        driver=None,
        cuda=None,
        container_engine=None,
        is_wsl=False,
        gpus=(),
        absent=(),
        names=[["hostname", name]],
    )
    made.add(Draft(host, Subject(CAMPAIGN)), role="collector")


@pytest.mark.parametrize("spelling", SPELLED)
def test_a_sealed_host_name_in_public_words_is_refused(anvil: Anvil, made: Laguna, spelling: str) -> None:
    sealed_host(made, "zurichseven")
    made.add(said(f"It ran on {SPELLED[spelling]('zurichseven')} alone."))
    refused(anvil, made, "private sealed names of host.observed", secret="zurichseven")


def test_a_sealed_host_name_that_is_a_setting_too_is_refused(anvil: Anvil, made: Laguna) -> None:
    sealed_host(made, "flashinfer-box")
    made.add(said("flashinfer-box"))
    refused(anvil, made, "private sealed names")


def test_a_sealed_model_name_is_no_secret(anvil: Anvil, made: Laguna) -> None:
    event = recipe().model_copy(
        update={"argv": [["a1", "poolside/Laguna-XS-2.1-NVFP4"], ["a1", "trtllm_mha"]]}
    )
    made.add(Draft(event, Subject(CAMPAIGN)), role="collector")
    assert anvil("release", DOCUMENT, *OUT).code == 0


@pytest.mark.parametrize(
    "letters",
    [
        "NhBRogj9Wh8+qPfZpwdnDS24K2aknCrCBBmKVcTNmD8",
        "N85/u/6BxnKO/sXwWhypu6is3llKBZKI/VlyyyqfYXE",
        "//dXO8tyOylaP5Hh8U9lCl20Gi9oh0CNQAQLi3xUq9o",
    ],
)
def test_a_fingerprint_that_looks_like_something_private_by_chance_is_no_secret(
    anvil: Anvil, made: Laguna, monkeypatch: pytest.MonkeyPatch, letters: str
) -> None:
    monkeypatch.setattr(VerifierKey, "fingerprint", property(lambda _key: f"SHA256:{letters}"))
    ran = anvil("release", DOCUMENT, *OUT)
    assert ran.code == 0, ran.err
    assert letters in Path("published/document.md").read_text(encoding="utf-8")


FLAG = "--max-num-batched-tokens"


def declared(change: str) -> Draft:
    experiment = DeclaredExperiment(
        key="batch",
        control="a1",
        attempt="a2",
        control_protocol=None,
        protocol=None,
        only_change=(change,),
        protocols=(),
    )
    event = recipe().model_copy(update={"argv": [["a1", FLAG], ["a1", "8192"]], "experiments": (experiment,)})
    return Draft(event, Subject(CAMPAIGN))


def test_a_flag_that_an_experiment_names_as_its_change_is_no_secret(anvil: Anvil, made: Laguna) -> None:
    made.add(declared(FLAG), role="collector")
    ran = anvil("release", DOCUMENT, *OUT)
    assert ran.code == 0, ran.err


def test_a_flag_is_one_where_no_experiment_names_it(anvil: Anvil, made: Laguna) -> None:
    made.add(declared("--max-model-len"), role="collector")
    made.add(said(f"It ran with {FLAG}."))
    refused(anvil, made, "private sealed argv of recipe.declared", secret=FLAG)


def test_a_product_on_the_reviewed_list_is_no_secret_and_another_is(anvil: Anvil, made: Laguna) -> None:
    sealed_host(made, "NVIDIA H200")
    made.add(said("It ran on an NVIDIA H200."))
    assert "NVIDIA H200" in PRODUCTS
    assert anvil("release", DOCUMENT, *OUT).code == 0
    sealed_host(made, "Umbrella H200")
    made.add(said("It ran on an Umbrella H200."))
    ran = anvil("release", DOCUMENT, "--out", "again")
    assert ran.code == 1
    assert "private sealed names" in ran.err


def test_the_environment_is_a_canary(anvil: Anvil, made: Laguna, monkeypatch: pytest.MonkeyPatch) -> None:
    made.add(said("It ran for Umbrella Corporation."))
    monkeypatch.setenv("CUSTOMER", "umbrella corporation")
    refused(anvil, made, "private variable CUSTOMER")
    monkeypatch.delenv("CUSTOMER")
    assert anvil("release", DOCUMENT, *OUT).code == 0


def test_a_private_log_does_not_leave(anvil: Anvil, made: Laguna) -> None:
    assert anvil("release", DOCUMENT, *OUT).code == 0
    everything = b"".join(path.read_bytes() for path in Path("published").rglob("*") if path.is_file())
    assert b"capturing CUDA graphs" not in everything


# --- exceptions ---------------------------------------------------------------------------------------------------


def excepted(text: str, expires: str, detector: str = "ipv4") -> Draft:
    digest = layout.digest(text.encode())
    return Draft(TripwireExcepted(detector=detector, text=digest, reason="It is a version.", expires=expires))


def test_an_exception_lets_exactly_its_text_pass(anvil: Anvil, made: Laguna) -> None:
    made.add(said("The library is 10.20.30.40 here."))
    refused(anvil, made, "ipv4")
    exception = made.add(excepted("10.20.30.40", "9999-01-01T00:00:00.000000Z"))[0]
    assert anvil("release", DOCUMENT, *OUT).code == 0
    report = verify_publication(Path("published"), vkey(made.place))
    assert report.released is not None
    assert report.released.exceptions == (exception.entry_hash,)


@pytest.mark.parametrize("how", ["expired", "another text", "another detector", "retracted"])
def test_an_exception_that_does_not_fit_lets_nothing_pass(anvil: Anvil, made: Laguna, how: str) -> None:
    made.add(said("The library is 10.20.30.40 here."))
    later = "9999-01-01T00:00:00.000000Z"
    draft = {
        "expired": excepted("10.20.30.40", "2026-07-11T00:00:00.000000Z"),
        "another text": excepted("10.20.30.4", later),
        "another detector": excepted("10.20.30.40", later, "ipv6"),
        "retracted": excepted("10.20.30.40", later),
    }[how]
    found = made.add(draft)[0]
    if how == "retracted":
        made.add(Draft(EventRetracted(target=found.entry_hash, reason="It is an address.")))
    refused(anvil, made, "ipv4")


def test_an_exception_is_asked_at_release_and_never_later(
    anvil: Anvil, made: Laguna, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.add(said("The library is 10.20.30.40 here."))
    made.add(excepted("10.20.30.40", "2026-12-31T00:00:00.000000Z"))
    from anvil.ledger.publication import exceptions

    monkeypatch.setattr(exceptions, "timestamp", lambda _now: "2026-12-30T00:00:00.000000Z")
    assert anvil("release", DOCUMENT, *OUT).code == 0
    monkeypatch.setattr(exceptions, "timestamp", lambda _now: "2027-12-30T00:00:00.000000Z")
    key = "anvil-ledger/log.vkey"
    assert anvil("verify", "--publication", "published", "--key", key).code == 0
    assert anvil("render", DOCUMENT).code == 0


def test_an_exception_is_made_by_a_command(anvil: Anvil, made: Laguna) -> None:
    made.add(said("The library is 10.20.30.40 here."))
    words = ("except", "ipv4", "10.20.30.40", "--reason", "It is the version of a library.", "--expires")
    for day in ("soon", "2027-02-31", "2027-01-31T00:00:00Z"):
        assert anvil(*words, day).code in (1, 2)
    assert anvil(*words, "9999-01-31").code == 0
    assert anvil("release", DOCUMENT, *OUT).code == 0


def test_no_exception_reaches_a_canary(anvil: Anvil, made: Laguna) -> None:
    sealed_host(made, "zurichseven")
    made.add(said("It ran on zurichseven."))
    made.add(excepted("zurichseven", "9999-01-01T00:00:00.000000Z", "host-name"))
    refused(anvil, made, "private sealed names")


# --- the tripwire broken ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [0, 24, 55, 80])
def test_a_broken_detector_refuses_the_release(
    anvil: Anvil, made: Laguna, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    every = tuple(detector for source in scanning.DETECTORS for detector in source())
    monkeypatch.setattr(scanning, "DETECTORS", (lambda: every[:number] + every[number + 1 :],))
    refused(anvil, made, "cannot be relied on")


def test_there_is_no_force(anvil: Anvil) -> None:
    for option in ("--force", "--no-tripwire", "--skip-tripwire", "-f", "--yes"):
        assert anvil("release", DOCUMENT, *OUT, option).code == 2


def test_what_people_concluded_is_made_again_by_a_stranger(anvil: Anvil, made: Laguna) -> None:
    """A waiver, a decision that is stale, and one that rests on what happened in a campaign that does not go along."""
    (other,) = made.add(Draft(GapNoted(text="It was hot."), Subject("elsewhere")))[-1:]
    seen = made.observed[0].entry_hash
    waiver = WaiverGranted(
        gate="coding",
        granted_by="operator",
        reason="It is on loan.",
        expires="2026-12-31T00:00:00.000000Z",
        about=(seen,),
    )
    rests_on = (made.observed[1].entry_hash, other.entry_hash)
    decision = DecisionRecorded(
        verdicts=("no-promotion",), sentence="It failed.", rests_on=rests_on, supersedes=None
    )
    for event in (waiver, decision):
        made.add(Draft(event, Subject(CAMPAIGN, CANDIDATE)))
    for target, campaign in ((other.entry_hash, "elsewhere"), (made.observed[1].entry_hash, CAMPAIGN)):
        made.add(Draft(EventRetracted(target=target, reason="It was another host."), Subject(campaign)))
    ran = anvil("release", DOCUMENT, *OUT)
    assert ran.code == 0, ran.err
    limit = (Path("published") / "provenance.json").read_text()
    assert "Waived (event" in limit
    assert "(no-promotion) is stale: event" in limit
    again = anvil("verify", "--publication", "published", "--key", "anvil-ledger/log.vkey")
    assert (again.code, "Recomputed  yes" in again.out) == (0, True), again.out

"""Twins: two ledgers that differ in what is withheld, and in nothing else, give the same documents.

Whatever is sealed or private is drawn anew for the second, and so are the names of placements, equal where they
were equal. Salts, keys, streams and the hashes that follow from all this differ in any case: what is typed as a
digest is compared by what it names.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support.published_folders import at_home
from support.saturated import CAMPAIGN, CANDIDATE, Saturated, saturated

from anvil.projections.document import DOCUMENTS, find
from anvil.projections.opened import Opened, opened
from anvil.projections.pages import page
from anvil.projections.provenance import provenance, spell
from anvil.projections.rendering import Template, draft

ORIGIN = re.compile(r"twin\.test\.invalid/[0-9a-f]{8}")
PLACES = 8
"""How many different values there are: what falls into the same place is equal in both ledgers."""

TEXTS = st.text(st.characters(blacklist_categories=("Cs", "Cc")), min_size=1, max_size=40)
LABELS = st.from_regex(r"[a-z0-9][a-z0-9._-]{0,30}", fullmatch=True)
PATTERN = st.lists(st.integers(0, PLACES - 1), min_size=64, max_size=64)
LAYOUT = '{"schema": "mine/1", "placements": [{% for one in attempts %}{{ one.placement }},{% endfor %}]}'


def distinct(texts: st.SearchStrategy[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(texts, min_size=PLACES, max_size=PLACES, unique=True)


def made(directory: Path, pattern: list[int], texts: list[str], labels: list[str]) -> Saturated:
    order: dict[str, int] = {}

    def place(where: str) -> int:
        return pattern[order.setdefault(where, len(order)) % len(pattern)]

    return saturated(
        directory, lambda where: texts[place(where)], lambda where: labels[place(where)], "twin.test.invalid"
    )


def documents(twin: Saturated) -> dict[str, str]:
    """Return every document as JSON, Markdown and HTML, with names in place of hashes."""
    found = {}
    with opened(twin.place, None) as ledger:
        names = named(ledger)
        for name in DOCUMENTS:
            document = find(name)
            candidate = CANDIDATE if document.is_of_one_candidate else None
            one = draft(ledger.record, ledger.artifacts, document, campaign=CAMPAIGN, candidate=candidate)
            known = {**names, one.digest.removeprefix("sha256:"): "DOCUMENT"}
            found[f"{name} json"] = told(one.rendered.text, known)
            for form in ("md", "html"):
                found[f"{name} {form}"] = told(page(one, ledger.state, ledger.record, form), known)
            members = provenance(one, ledger.state, ledger.artifacts)
            for leaf in members["leaves"]:  # in order of hash there, which says nothing
                leaf["events"].sort(key=names.__getitem__)
                leaf["artifacts"].sort(key=lambda a: (names[a["event"]], a["name"]))
            found[f"{name} provenance"] = told(spell(members), known)
        template = Template("mine", LAYOUT)
        failure = find("candidate-failure.v1")
        own = draft(
            ledger.record,
            ledger.artifacts,
            failure,
            campaign=CAMPAIGN,
            candidate=CANDIDATE,
            template=template,
        )
        found["own layout"] = own.rendered.text
    return found


def named(ledger: Opened) -> dict[str, str]:
    """Return what each hash is called that differs in any two ledgers."""
    names = {ledger.state.root: "ROOT"}
    for kept in ledger.record.every():
        names[kept.entry_hash] = f"EVENT-{kept.index:04}"
        names |= {str(a.commitment): f"COMMITMENT-{kept.index:04}-{a.name}" for a in kept.artifacts}
    return names


def told(text: str, names: dict[str, str]) -> str:
    for digest, name in names.items():
        text = text.replace(digest, name).replace(digest[:12], f"SHORT-{name}")
    return ORIGIN.sub("ORIGIN", re.sub(r"[ \t]+", " ", text))


@settings(
    max_examples=5,
    deadline=None,
    phases=(
        Phase.explicit,
        Phase.reuse,
        Phase.generate,
    ),  # each example is two ledgers: shrinking takes minutes
    suppress_health_check=list(HealthCheck),
)
@given(PATTERN, distinct(TEXTS), distinct(TEXTS), distinct(LABELS), distinct(LABELS))
def test_what_is_withheld_changes_no_document(
    pattern: list[int], one: list[str], other: list[str], labels: list[str], others: list[str]
) -> None:
    directory = Path(tempfile.mkdtemp())
    try:
        with at_home(directory / "first"):
            first = documents(made(directory / "first" / "ledger", pattern, one, labels))
        with at_home(directory / "second"):
            second = documents(made(directory / "second" / "ledger", pattern, other, others))
    finally:
        shutil.rmtree(directory)
    assert first.keys() == second.keys()
    for name, text in first.items():
        assert text == second[name], name

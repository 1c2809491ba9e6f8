"""Rows of other tools: one spelling, exact values, statistics by name."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil.ledger.errors import LedgerError
from anvil.ledger.events.results import Quantity
from anvil.ledger.rowtable import Column, MalformedRows, RowTable, table, wall_ns
from anvil.ledger.statistics import NoNumber

TTFT = Column(name="ttft", called="ttft_ms", unit="ms", definition="ttft.visible/1")
ITL = Column(name="itl", called="itls", unit="s", definition=None)


def row(**members: Any) -> dict[str, Any]:
    return {"position": "$.rows[0]", "outcome": "passed", "values": {}, **members}


texts = st.from_regex(r"\A(?:0|[1-9][0-9]{0,9})(?:\.[0-9]{1,20})?(?:e[+-]?[0-9]{1,2})?\Z")


@given(st.lists(st.one_of(st.none(), texts, st.lists(texts, max_size=4)), max_size=6))
def test_rows_come_back_as_they_were(values: list[Any]) -> None:
    made = table([TTFT, ITL], [row(values={"itl": value}, item=f"i{n}") for n, value in enumerate(values)])
    raw = made.encode()
    again = RowTable.parse(raw)
    assert again == made
    assert again.encode() == raw
    flat = [text for v in values if v is not None for text in ([v] if isinstance(v, str) else v)]
    assert again.values("itl") == [Fraction(text) for text in flat]


def test_a_value_is_the_text_that_it_was() -> None:
    made = table([TTFT], [row(values={"ttft": "1.50"}), row(values={"ttft": "1e-05"})])
    assert [one.values["ttft"] for one in RowTable.parse(made.encode()).rows] == ["1.50", "1e-05"]
    assert made.values("ttft") == [Fraction(3, 2), Fraction(1, 100_000)]


def test_statistics_are_of_all_rows_or_of_an_item_or_group() -> None:
    made = table(
        [TTFT],
        [
            row(item="a", group="x", values={"ttft": "1"}),
            row(item="a", group="y", values={"ttft": "2"}),
            row(item="b", group="y", outcome="failed"),
        ],
    )
    assert made.statistic("sum", "ttft") == 3
    assert made.statistic("sum", "ttft", of="a") == 3
    assert made.statistic("sum", "ttft", of="y") == 2
    assert made.statistic("mean", "ttft", of="b") is None
    wall = Quantity(number="0.5", unit="s")
    assert made.statistic("sum_over_wall", "ttft", wall=wall) == 6
    assert made.statistic("sum_over_wall", "ttft") is None
    with pytest.raises(NoNumber, match="no statistic"):
        made.statistic("median", "ttft")


def test_a_wall_time_is_a_time() -> None:
    assert wall_ns(Quantity(number="1.5", unit="ms")) == 1_500_000
    with pytest.raises(NoNumber, match="a wall time is in"):
        wall_ns(Quantity(number="1.5", unit="tokens"))


GOOD = table([TTFT], [row(values={"ttft": "1"})]).encode()


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"", "cut off"),
        (GOOD[:-1], "cut off"),
        (GOOD + b"\n", "not canonical"),
        (GOOD.replace(b'"schema"', b'"scheme"'), "schema"),
        (GOOD.replace(b"rows/1", b"rows/2"), "anvil.imported.rows/1"),
        (GOOD.replace(b'"1"', b"1"), "values"),
        (GOOD.replace(b'"ttft":"1"', b'"ttfo":"1"'), "other values than there are columns"),
        (GOOD.replace(b'"passed"', b'"maybe"'), "outcome"),
        (GOOD.replace(b":", b": ", 1), "not canonical"),
        (b"[]\n", "dictionary"),
    ],
)
def test_what_is_not_spelled_so_is_no_rows(raw: bytes, expected: str) -> None:
    with pytest.raises(MalformedRows, match=expected):
        RowTable.parse(raw)


def test_two_columns_of_one_name_are_refused() -> None:
    with pytest.raises(MalformedRows, match="two columns have one name"):
        RowTable((TTFT, TTFT), ())


def test_a_row_that_no_row_can_be_is_refused_with_its_place() -> None:
    with pytest.raises(LedgerError, match=r'row "\$\.rows\[0\]": values'):
        table([TTFT], [row(values={"ttft": "one"})])

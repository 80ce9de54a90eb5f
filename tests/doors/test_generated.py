"""Frames as chance makes them: what is missing, extra, null, unknown, renamed, unsorted. All doors agree."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import cepheid as cep
from tests.doors.cases import Row
from tests.doors.test_matrix import DOORS, Door
from tests.effort import examples

PROGRAM = cep.parse("""
create schema Payment (card string, amount int, note string);
create schema Refund (card string, amount int);
create context Cards partition by card from Payment, card from Refund;
@Name('Large') context Cards select card, amount from Payment(amount > 10);
@Name('Back') context Cards select a.amount as paid, b.amount as back
    from pattern [every a=Payment -> b=Refund];
""")
# The same instant as people write it; a column has one notation.
NOTATIONS: dict[str, Callable[[int], Any]] = {
    "seconds": lambda n: n,
    "fractions": lambda n: n + 0.5,
    "texts": lambda n: f"2026-01-01T00:00:{n:02d}Z",
    "zoneless": lambda n: f"2026-01-01T00:00:{n:02d}",
    "milliseconds": lambda n: n * 1000,
}
seldom = st.sampled_from([False, False, False, False, False, True])


@st.composite
def inputs(draw: st.DrawFn) -> tuple[dict[str, list[Row]], dict[str, Any]]:
    """Rows by type, and the options of the call."""
    notation = draw(st.sampled_from(list(NOTATIONS)))
    time = draw(st.sampled_from(["@time", "at"]))
    card = draw(st.sampled_from(["card", "card_no"]))
    absent = {name for name in ("card", "amount") if draw(seldom) and draw(seldom)}
    has_nulls, has_noon, has_more = draw(seldom), draw(seldom), draw(seldom)
    types = ["Payment", *draw(st.sampled_from([["Refund"], [], ["Refund", "Other"]]))]
    rows: dict[str, list[Row]] = {}
    for type in types[: 2 if not draw(seldom) else 3]:
        rows[type] = []
        for number in range(draw(st.integers(1, 4))):
            stamp: Any = NOTATIONS[notation](draw(st.integers(0, 30)))
            if has_nulls and draw(seldom):
                stamp = None
            if has_noon and isinstance(stamp, str) and draw(seldom):
                stamp = "noon"
            row: dict[str, Any] = {time: stamp}
            if "card" not in absent:
                row[card] = (
                    draw(st.sampled_from("ab")) if not (has_nulls and draw(seldom)) else None
                )
            if "amount" not in absent:
                row["amount"] = draw(st.integers(0, 30))
            if has_more:
                row["zip"] = number
            rows[type].append(row)
    fitting = {
        "time": "at" if time == "at" else None,
        "unit": "milliseconds" if notation == "milliseconds" else None,
        "columns": {"card_no": "card"} if card == "card_no" else None,
        "optional": sorted(absent),
    }
    options: dict[str, Any] = {n: v for n, v in fitting.items() if v and not draw(seldom)}
    options["on_error"] = draw(st.sampled_from(["fail", "skip"]))
    options["extra"] = "error" if draw(seldom) else "ignore"
    return rows, options


@examples(40)
@given(inputs())
def test_all_doors_agree(given_: tuple[dict[str, list[Row]], dict[str, Any]]) -> None:
    rows, options = given_
    with TemporaryDirectory() as folder:
        found = {
            name: outcome(door, rows, options, Path(folder) / name) for name, door in DOORS.items()
        }
    assert len(set(map(repr, found.values()))) == 1, "\n".join(
        f"{n}: {o}" for n, o in found.items()
    )


def outcome(
    door: Door, rows: Mapping[str, list[Row]], options: Mapping[str, Any], folder: Path
) -> object:
    """Rows, notes and what was skipped; or the code of the error."""
    folder.mkdir()
    source = door(rows, folder)
    sources = source if isinstance(source, list) and isinstance(source[0], Path) else [source]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cep.CepheidWarning)
            result = cep.run(PROGRAM, *sources, **options)
    except cep.CepheidError as refused:
        return refused.diagnostics[0].code
    shown = [(row.type, row.instant, dict(row)) for row in result]
    codes = [problem.code for problem in result.skipped]
    return shown, sorted(codes), sorted(str(note) for note in result.notes), result.taken

"""What statements in a row keep: what still matters, and one batch, however much has gone through them."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.matcher.lanes import operator as lanes
from cepheid.matcher.lanes.operator import LanesOperator
from cepheid.matcher.operator import Operator, open_operator
from cepheid.matcher.parts import PartsOperator

BATCH, BATCHES = 1 << 11, 48
SECOND = 1_000_000
IN_A_ROW = """
create schema A (id string, k int, v int);
insert into High select id, k, v from A(v > 3);
insert into Low select id, k, v from A(v < 3);
insert into Near select b.id as id, b.k as k, b.v as v
from pattern [every a=High -> b=Low(k = a.k) where timer:within(1 sec)];
insert into Near select id, k, v from A(v = 3);
insert into Sum select k, sum(v) as v from Near#WINDOW group by k;
insert into Most select k, max(v) as v from Near#WINDOW group by k;
select id, count(distinct v) as n from Near#length(5);
"""
TIMED = IN_A_ROW.replace("WINDOW", "time(2 sec)")
APART = f"""{IN_A_ROW.replace("WINDOW", "length(2000)")}
insert into Step select k, v from A(v < 2);
insert into Step select k, v + 1 as v from Step(v < 3);
"""


def batches() -> Iterator[pa.Table]:
    """Ten events a millisecond, each with a text of its own; keys that come and go."""
    for number in range(BATCHES):
        places = np.arange(number * BATCH, (number + 1) * BATCH)
        yield pa.table(
            {
                "@type": pa.repeat("A", BATCH),
                "@time": pa.array(places * (SECOND // 1_000)),
                "@sequence": pa.array(places),
                "id": [f"event {place}" for place in places.tolist()],
                "k": pa.array(places // 7 % 10_000, pa.int32()),
                "v": pa.array(places * 7 % 11 % 6, pa.int32()),
            }
        )


@pytest.mark.parametrize(("text", "kind"), [(TIMED, LanesOperator), (APART, PartsOperator)])
def test_memory_and_state_do_not_grow_with_what_has_gone_through(
    text: str, kind: type[Operator], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lanes, "_SPARE", 2 * BATCH)
    operator = open_operator(cep.parse(text).resolve(), keyed=False)
    assert isinstance(operator, kind)
    kept, saved, rows = [], [], 0
    operator.start(0)
    tracemalloc.start()
    try:
        for batch in batches():
            rows += operator.take(batch).num_rows
            kept.append(tracemalloc.get_traced_memory()[0])
            saved.append(len(operator.save()))
    finally:
        tracemalloc.stop()
    assert rows > BATCHES * BATCH / 4
    third = BATCHES // 3
    assert max(kept[-third:]) < 1.3 * max(kept[third:-third])
    assert max(saved[-third:]) < 1.3 * max(saved[third:-third])

"""The plan of a request: decided without a session, frozen, printable."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError
from importlib import import_module

import pytest

import cepheid as cep
from cepheid.core.time import Period
from cepheid.engines.spark.codec.event_layout import TIME, TYPE, EventLayout
from cepheid.engines.spark.codec.input_columns import Options
from cepheid.engines.spark.codec.packed_program import PackedProgram
from cepheid.engines.spark.codec.schemas import with_schema
from cepheid.engines.spark.plan.plan import UNORDERED, Plan, plan_of
from cepheid.engines.spark.plan.request import SparkRequest, WatermarkPolicy
from cepheid.engines.spark.plan.run_warnings import warnings_on
from cepheid.engines.spark.session.workers import LOADED_EARLY

TWO_KEYS = """
    create schema A (k string, g int, v int);
    @Name('p') insert into P select a.g as g, b.v as v from pattern [every a=A -> b=A(k = a.k)];
    @Name('q') insert into Q select p.v as v from pattern [every p=P -> P(g = p.g)];
    @Name('r') insert into R select count(*) as n from A;
"""
ORDERED = Options(sequence="seq")


def planned(options: Options = ORDERED, watermark: WatermarkPolicy | None = None) -> Plan:
    program = cep.parse(TWO_KEYS).resolve()
    return plan_of(SparkRequest(program=program, options=options, watermark=watermark))


def test_a_plan_says_passes_keys_columns_order_and_clock() -> None:
    assert str(planned()).splitlines() == [
        "pass 1: p",
        "  split by A.k",
        "  columns k, g, v",
        "  order @time, @sequence",
        "pass 2: q",
        "  split by P.g",
        "  takes P of pass 1, in operator 2",
        "  columns g, v",
        "  order @time, @sequence",
        "pass 3: r",
        "  split by nothing: r: its aggregates run over the rows of all keys",
        "  columns none",
        "  order @time, @sequence",
        "clock: rows do not depend on time alone",
    ]


def test_a_plan_is_never_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        planned().depends_on_time = True  # type: ignore[misc]
    assert planned().passes == planned().passes


def test_what_hinders_operators_in_a_row_is_in_the_plan() -> None:
    delay = Period(microseconds=1_000_000)
    stream = planned(watermark=WatermarkPolicy(delay=delay))
    assert stream.operators == 2
    unordered = planned(watermark=WatermarkPolicy(delay=delay), options=Options())
    idle = planned(watermark=WatermarkPolicy(delay=delay, idle=delay))
    for plan, why in ((unordered, UNORDERED), (idle, "with idle=")):
        assert plan.operators == 1
        (alone,) = plan.passes
        assert alone.logical.key is None
        assert why in str(alone.logical.reason)


def test_warnings_are_those_of_the_plan() -> None:
    policy = WatermarkPolicy(delay=Period(microseconds=1))
    (finding,) = warnings_on(planned(watermark=policy))
    assert (finding.code, finding.message) == ("no-key", "one task takes all events of r")


def test_a_program_reaches_workers_whole_and_in_parts() -> None:
    program = cep.parse(TWO_KEYS).resolve()
    packed = pickle.loads(pickle.dumps(PackedProgram.of(program)))
    assert [s.name for s in packed.open().statements] == ["p", "q", "r"]
    assert [s.name for s in packed.part(["q"]).statements] == ["q"]
    assert packed.part(["q"]) is packed.part(("q",))


def test_a_layout_gives_back_what_did_not_travel() -> None:
    import pyarrow as pa

    layout = EventLayout(("A", "B"), ("v", "at"), (("c1", 1_000),), ("c0", "@sort0_1"), False)
    sent = {
        TYPE: pa.array([1, 0], pa.int16()),
        TIME: pa.array([5_000, 7_000]),
        "c0": pa.array([3, 4]),
    }
    found = {name: column.to_pylist() for name, column in layout.decode(sent, 2).items()}
    assert found == {TYPE: ["B", "A"], TIME: [5_000, 7_000], "v": [3, 4], "at": [5, 7]}
    assert [*map(layout.name_of, layout.sort_keys)] == ["v", "@sort0_1"]


def test_what_is_null_in_a_pass_is_null_in_the_columns_of_the_whole() -> None:
    import pyarrow as pa

    one = pa.struct([("v", pa.int64())])
    whole = pa.schema([("P", pa.struct([("g", pa.string()), ("v", pa.int64())])), ("Q", one)])
    found = with_schema(pa.table({"P": pa.array([{"v": 1}, None], one)}), whole)
    assert found.to_pylist() == [{"P": {"g": None, "v": 1}, "Q": None}, {"P": None, "Q": None}]


@pytest.mark.parametrize("module", LOADED_EARLY)
def test_what_workers_load_early_is_there(module: str) -> None:
    assert import_module(module)

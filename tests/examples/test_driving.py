"""The operator graphs among the examples: who is warned when, and what streams of sensors carry.

`pytest tests/examples --rewrite` writes the warnings and the picture anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import cepheid as cep
from cepheid import realtime
from cepheid.realtime.reading import read
from cepheid.realtime.recorded import row_of

ROOT = Path(__file__).parents[2]
DRIVING, FUSION = ROOT / "examples" / "driving", ROOT / "examples" / "fusion"
Delivered = list[realtime.Delivery[Any]]


@pytest.fixture(scope="module")
def checked() -> realtime.Checked:
    return realtime.checked(realtime.load(DRIVING / "driving.toml").graph)


@pytest.fixture(scope="module")
def delivered(checked: realtime.Checked) -> Delivered:
    """What the graph means: nothing takes any time."""
    found: Delivered = []
    graph = checked.graph
    ranges = realtime.Consumer(name="ranges", input="range", priority=1)
    whole = realtime.Graph(graph.suppliers, graph.operators, (*graph.consumers, ranges))
    realtime.simulate(whole, processors=None, deliver=found.append)
    return found


def of_consumer(name: str, delivered: Delivered) -> Delivered:
    return [each for each in delivered if each.consumer.name == name]


def rounded(row: dict[str, Any]) -> dict[str, Any]:
    """To what no other processor computes differently."""
    return row | {"payload": {name: round(each, 6) for name, each in row["payload"].items()}}


def test_hard_braking_is_warned_of_once(
    checked: realtime.Checked, delivered: Delivered, rewrite: bool
) -> None:
    brake = of_consumer("brake", delivered)
    rows = [rounded(row_of(each, checked.payloads["CollisionWarning"])) for each in brake]
    golden = DRIVING / "expected.jsonl"
    if rewrite:
        golden.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert rows == [json.loads(line) for line in golden.read_text().splitlines()]
    assert len(rows) == 1


def test_soft_braking_comes_as_close_and_is_not_warned_of(delivered: Delivered) -> None:
    ranges = of_consumer("ranges", delivered)
    middle = 6_500_000_000  # between both
    soft = [each.sample.value[0] for each in ranges if each.time < middle]
    hard = [each.sample.value[0] for each in ranges if each.time >= middle]
    assert min(soft) < 15
    assert min(hard) < 15
    assert all(each.time >= middle for each in of_consumer("brake", delivered))


def test_the_program_alone_warns_of_the_same_ranges(delivered: Delivered) -> None:
    events = [
        {"@type": "range", "@time": each.time / 1e9, "distance": float(each.sample.value[0])}
        for each in of_consumer("ranges", delivered)
    ]
    rows = cep.run(cep.load(DRIVING / "warning.epl"), events)
    assert [(row.instant * 1_000, row["before"], row["now"]) for row in rows] == [
        (each.time, *each.sample.value) for each in of_consumer("brake", delivered)
    ]


def test_everyone_gets_all_that_there_is(delivered: Delivered) -> None:
    assert len(of_consumer("dashboard", delivered)) == 12 * 50
    assert not any(each.is_late for each in delivered)


def test_the_times_beside_the_example_are_those_of_its_operators(
    checked: realtime.Checked,
) -> None:
    times = realtime.load_times(DRIVING / "times.json")
    assert times.operators.keys() == {each.name for each in checked.graph.operators}
    assert realtime.predict(checked.graph, times).holds


def test_the_picture_of_the_docs_is_what_is_drawn(checked: realtime.Checked, rewrite: bool) -> None:
    drawn = realtime.to_svg(checked.graph, checked.payloads)
    file = ROOT / "docs" / "driving.svg"
    if rewrite:
        file.write_text(drawn, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == drawn


# -- fusion --


@pytest.mark.parametrize(
    "file",
    [DRIVING / "driving.toml", *sorted(FUSION.glob("*.toml"))],
    ids=lambda file: file.stem,
)
def test_nothing_is_found_in_a_graph(file: Path) -> None:
    found, findings = read(file)
    assert found is not None
    assert findings == []


SIZES = {
    "priorities": {"high": 512, "middle": 1024 * 16, "low": 2048 * 8},
    "sharing": {"high": 2048 * 8, "middle": 2048 * 8, "low": 2048 * 8},
}


@pytest.mark.parametrize("name", SIZES)
def test_consumers_get_so_many_bytes(name: str) -> None:
    graph = realtime.load(FUSION / f"{name}.toml").graph
    sizes: dict[str, set[int]] = {}

    def measure(delivery: realtime.Delivery[Any]) -> None:
        sizes.setdefault(delivery.consumer.name, set()).add(delivery.sample.value.nbytes)

    realtime.simulate(graph, seconds=0.1, deliver=measure)
    assert sizes == {consumer: {size} for consumer, size in SIZES[name].items()}


def test_shared_spectra_are_computed_once() -> None:
    graph = realtime.load(FUSION / "sharing.toml").graph
    apart = realtime.variant(graph, sharing=False)
    assert len(graph.operators) == 4 * 2 + 3 * 2
    assert len(apart.operators) == 6 * 2 + 3 * 2
    assert {graph.levels[name] for name in ("ekf2", "fft2")} == {1}
    assert {graph.levels[name] for name in ("ekf4", "fft4")} == {2}
    assert {graph.levels[name] for name in ("low_cat", "low_aes")} == {3}

"""What mutants are made of, and what takes them: a target for each kind of input."""

from __future__ import annotations

import json
import shutil
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any

import cepheid as cep
from cepheid.core.types import EventType
from cepheid.errors import Severity
from tests.conformance.scenarios import FOLDER, TYPES, read
from tests.fuzz.mutation import mutated

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


@dataclass(frozen=True, slots=True)
class Target:
    """Good inputs, mutants of them, and what is done with one."""

    seeds: Sequence[Any]
    take: Callable[[Any, Random], None]
    mutate: Callable[[Any, Random, Sequence[Any]], Any] = mutated

    def make(self, random: Random) -> Any:
        return self.mutate(random.choice(self.seeds), random, self.seeds)


# -- programs ----------------------------------------------------------------------------------


def _texts(*patterns: str) -> list[bytes]:
    found = [path for pattern in patterns for path in sorted(EXAMPLES.glob(pattern))]
    return [path.read_bytes() for path in found]


def _golden_programs() -> list[bytes]:
    files = map(read, sorted(FOLDER.glob("*.txt")))
    return [case.text.encode() for file in files for case in file.runnable]


def _text_of(mutant: bytes) -> str:
    return mutant.decode("utf-8", "surrogateescape")


def _program(language: str, mutant: bytes, random: Random) -> None:
    program = cep.parse(_text_of(mutant), language, types=TYPES)
    _use(program, random)


def _use(program: cep.Program, random: Random) -> None:
    """All that people do with a program that has been read."""
    # Analyses take longer than all the rest: few mutants need them.
    findings = program.check() if random.random() < 0.2 else program.resolve().problems
    str(program)
    assert cep.Program.from_json(program.to_json()) == program
    if not program.tree.classes and not any(f.severity is Severity.ERROR for f in findings):
        events = list(_events(program.resolve().input_types, program.resolve().types, random))
        cep.run(program, events, engine=random.choice(("local", "reference")))


def _events(
    names: Sequence[str], types: Any, random: Random, count: int = 20
) -> Iterator[dict[str, object]]:
    instant = 0
    for _ in range(count if names else 0):
        type: EventType = types[random.choice(sorted(names))]
        instant += random.choice((0, 1, 1, 5))
        values = {a.name: _value(str(a.type), random) for a in type.attributes}
        time = {} if type.time else {"@time": instant}
        yield {"@type": type.name, **time, **{n: v for n, v in values.items() if v is not None}}


def _value(type: str, random: Random) -> object:
    if type in ("int", "long"):
        return random.choice((0, 1, 2, 100))
    if type in ("float", "double"):
        return random.choice((0.0, 1.5, 100.0))
    if type == "boolean":
        return random.random() < 0.5
    return random.choice(("", "a", "k1")) if type == "string" else None


def _programs(language: str, *patterns: str) -> Callable[[], Target]:
    def target() -> Target:
        seeds = _texts(*patterns)
        if language == "epl":
            seeds += _golden_programs()[::7]
        return Target(seeds, partial(_program, language))

    return target


def _queries() -> Target:
    from cepheid import live

    metamodel = live.load_metamodel(EXAMPLES / "cps" / "cps.ecore")

    def take(mutant: bytes, random: Random) -> None:
        live.parse_queries(_text_of(mutant), metamodel)

    return Target(_texts("cps/*.vql"), take)


def _program_json() -> Target:
    programs = [*map(cep.load, _program_files())]
    return Target([program.to_json().encode() for program in programs], _take_program_json, _json)


def _program_files() -> list[Path]:
    return [p for kind in ("epl", "vepl", "bicepl") for p in sorted(EXAMPLES.glob(f"*/*.{kind}"))]


def _take_program_json(mutant: bytes, random: Random) -> None:
    _use(cep.Program.from_json(_text_of(mutant)), random)


def _json(seed: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Mistakes in the text, or values that change their places."""
    if random.random() < 0.3:
        return mutated(seed, random, others)
    data, other = json.loads(seed), json.loads(random.choice(others))
    for _ in range(random.choice((1, 1, 2, 3))):
        holder, key = random.choice(list(_places(data)))
        from_holder, from_key = random.choice(list(_places(random.choice((data, other)))))
        odd: tuple[object, ...] = (
            None,
            True,
            0,
            -1,
            2**70,
            1e308,
            "",
            "x",
            [],
            {},
            from_holder[from_key],
        )
        copied = json.loads(json.dumps(random.choice((*odd, from_holder[from_key]))))
        holder[key] = copied
    return json.dumps(data).encode()


def _places(data: Any) -> Iterator[tuple[Any, Any]]:
    for key, value in data.items() if isinstance(data, dict) else enumerate(data):
        yield data, key
        if isinstance(value, dict | list):
            yield from _places(value)


# -- events ------------------------------------------------------------------------------------

_READINGS = """create schema Motorbike (motorbikeId int, location string, speed double,
  tirePressure1 double, tirePressure2 double, seat boolean, timestamp long);
@Name('Fast') insert into Fast select m.motorbikeId as id, m.speed * 2 as s, m.location || '!' as l
from pattern [every m=Motorbike(speed > 10) -> n=Motorbike(motorbikeId = m.motorbikeId)];
@Name('Mean') insert into Mean select location, avg(speed) as v, count(*) as n
from Motorbike#time(10 sec) group by location;"""


def _event_files(ending: str, seeds: Callable[[], list[bytes]]) -> Callable[[], Target]:
    def target() -> Target:
        program = cep.parse(_READINGS)
        return Target(seeds(), partial(_event_file, program, f"mutant{ending}"))

    return target


def _event_file(program: cep.Program, name: str, mutant: bytes, random: Random) -> None:
    from unittest.mock import patch

    Path(name).write_bytes(mutant)
    is_columnar = random.random() < 0.5
    on_error = random.choice(("fail", "skip"))
    with patch("cepheid.engines.local.engine.are_small", lambda _: not is_columnar):
        rows = cep.run(program, name, on_error=on_error)  # type: ignore[arg-type]
        list(rows)


def _jsonl() -> list[bytes]:
    lines = (EXAMPLES / "motorbike" / "events.jsonl").read_bytes().splitlines(keepends=True)
    timed = [
        b'{"@time": "2026-01-01T00:00:0%dZ", ' % n + line[1:] for n, line in enumerate(lines[:9])
    ]
    return [b"".join(timed), b"".join(timed[:2])]


def _table() -> Any:
    import pandas as pd

    frame = pd.DataFrame([json.loads(line) for line in _jsonl()[0].splitlines()])
    frame["@time"] = pd.to_datetime(frame["@time"])
    return frame


def _csv() -> list[bytes]:
    frame = _table()
    return [frame.to_csv(index=False).encode(), frame.iloc[:2].to_csv(index=False).encode()]


def _parquet() -> list[bytes]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    found = []
    for compression in ("snappy", None):
        buffer = BytesIO()
        _table().to_parquet(buffer, compression=compression)
        found.append(buffer.getvalue())
    buffer = BytesIO()  # most of which is values, so that mistakes are in them
    values = pa.concat_tables([pa.Table.from_pandas(_table())] * 20).replace_schema_metadata()
    pq.write_table(values, buffer, compression="none", use_dictionary=False, write_statistics=False)
    return [*found, buffer.getvalue()]


def _scenario_events() -> list[bytes]:
    return [
        b'Motorbike={motorbikeId=1, location="here", speed=80.0, seat=true}\nt=t.plus(3 seconds)\n'
        b'Motorbike={motorbikeId=1, location="there", speed=0.0}\n',
        *_texts("*/*.events"),
    ]


# -- frames ------------------------------------------------------------------------------------


def _frames() -> Target:
    program = cep.parse(_READINGS)
    return Target([_table()], partial(_frame, program), _odd_frame)


def _odd_frame(seed: Any, random: Random, others: Sequence[Any]) -> Any:
    """A frame of which some columns hold something else, have gone, or are there twice."""
    frame = seed.copy()
    for _ in range(random.choice((1, 1, 2, 3))):
        with suppress(Exception):  # not every change can be made of every frame
            frame = _changed(frame, random)
    return frame


def _changed(frame: Any, random: Random) -> Any:
    import pandas as pd

    change = random.randrange(7)
    column = random.choice(list(frame.columns))
    if change == 0:
        return frame.drop(columns=[column])
    if change == 1:
        return frame.rename(columns={column: random.choice((0, None, "", "speed", ("a", "b")))})
    if change == 2:
        return pd.concat([frame, frame[[column]]], axis=1)
    if change == 3:
        return frame.iloc[: random.randint(0, len(frame))]
    if change == 4:
        return frame.set_index(pd.Index(_odd_column(len(frame), random)))
    return frame.assign(**{column: _odd_column(len(frame), random)})


def _odd_column(count: int, random: Random) -> Any:
    import numpy as np
    import pandas as pd

    one = (
        *(None, 1, -1, 2**63 - 1, 2**70, 1.5, float("nan"), float("inf"), "text", "", b"bytes"),
        *(True, [1], {"a": 1}, (1, 2), pd.NaT, pd.NA, 1 + 2j, object()),
        *(pd.Timestamp("1700-01-01"), pd.Timestamp("2026-01-01", tz="Europe/Berlin")),
        *(pd.Period("2026-01", "M"), pd.Timedelta("1 day"), pd.Interval(0, 1), np.float16(1)),
    )
    values = [random.choice(one)] * count
    if random.random() < 0.3:
        values = [random.choice(one) for _ in range(count)]
    if random.random() < 0.2:
        return pd.Categorical(["a"] * count)
    return pd.Series(values, dtype=object if random.random() < 0.5 else None).values


def _frame(program: cep.Program, frame: Any, random: Random) -> None:
    import pyarrow as pa

    given = frame
    if random.random() < 0.5:
        try:
            given = pa.Table.from_pandas(frame)
        except Exception:  # what Arrow does not take is not ours
            given = frame
    list(cep.run(program, given, on_error=random.choice(("fail", "skip"))))


# -- saved state -------------------------------------------------------------------------------


def _states() -> Target:
    program = cep.parse(_READINGS)
    saved = []
    for engine in ("local", "reference", "automaton"):
        session = cep.open(program, engine=engine)
        for event in _events(["Motorbike"], program.resolve().types, Random(1)):
            session.send(event)
            saved.append((engine, session.save()))
    return Target(saved, partial(_state, program), _damaged)


def _damaged(
    seed: tuple[str, bytes], random: Random, others: Sequence[tuple[str, bytes]]
) -> tuple[str, bytes]:
    engine, state = seed
    others_states = [other for _, other in others]
    if engine == "local" or random.random() < 0.3:
        return engine, mutated(state, random, others_states)
    # Forged: the mistakes are inside, and all that says that the state is whole says so.
    session, content = _opened(state)
    runner, payload = _opened(content[8:])
    payload = mutated(payload, random, others_states)
    return engine, _sealed(session, content[:8] + _sealed(runner, payload))


def _opened(state: bytes) -> tuple[bytes, bytes]:
    header, _, rest = state.partition(b"\n")
    return header + b"\n", rest[4:]


def _sealed(header: bytes, payload: bytes) -> bytes:
    return header + zlib.crc32(payload, zlib.crc32(header)).to_bytes(4) + payload


def _state(program: cep.Program, mutant: tuple[str, bytes], random: Random) -> None:
    engine, state = mutant
    session = cep.open(program, engine=engine, state=state)
    session.send("Motorbike", {"motorbikeId": 1, "speed": 20.0}, 10_000)
    session.advance(20_000)


# -- settings ----------------------------------------------------------------------------------


def _scenarios() -> Target:
    program = cep.load(EXAMPLES / "motorbike" / "motorbike.epl")
    return Target(_texts("motorbike/evidence/*.toml"), partial(_scenario, program))


def _scenario(program: cep.Program, mutant: bytes, random: Random) -> None:
    from cepheid.simulation.scenario import read_scenario

    Path("mutant.toml").write_bytes(mutant)
    scenario = read_scenario("mutant.toml")
    cep.simulate(program, scenario, runs=2, events=20)


_ENVIRONMENT = b"""[[input]]
type = "A"
gaps = [1, "20 seconds"]
values.id = ["k"]
values.v = [7, 101]

[[input]]
type = "B"
gaps = [0.5]
values.id = ["k", "l"]
values.v = {min = 1, max = 9, step = 2}
"""


def _environments() -> Target:
    program = cep.parse("select * from pattern [every a=A -> b=B(v = a.v)]", types=TYPES).resolve()
    return Target(
        [_ENVIRONMENT, b'[[input]]\ntype = "A"\ngaps = [0]\n'], partial(_environment, program)
    )


def _environment(program: Any, mutant: bytes, random: Random) -> None:
    from cepheid.formal.maude.environment import environment_of

    Path("mutant.toml").write_bytes(mutant)
    environment_of("mutant.toml", program)


def _graphs() -> Target:
    for path in EXAMPLES.glob("driving/*"):
        shutil.copy(path, ".")
    return Target(_texts("driving/driving.toml", "fusion/*.toml"), _graph)


def _graph(mutant: bytes, random: Random) -> None:
    from cepheid import realtime
    from cepheid.realtime.reading import read

    Path("mutant.toml").write_bytes(mutant)
    read("mutant.toml")
    realtime.check(realtime.load("mutant.toml").graph)


def _pipelines() -> Target:
    for path in EXAMPLES.glob("travel/*"):
        shutil.copy(path, ".")
    return Target(_texts("travel/cepheid.toml"), _pipeline)


def _pipeline(mutant: bytes, random: Random) -> None:
    from cepheid import pipelines

    Path("mutant.toml").write_bytes(mutant)
    pipelines.check("mutant.toml")
    pipelines.load("mutant.toml")


def _executors() -> Target:
    return Target(_texts("travel/executors.toml"), _executor)


def _executor(mutant: bytes, random: Random) -> None:
    from cepheid import actions

    Path("mutant.toml").write_bytes(mutant)
    actions.read_deliveries("mutant.toml")


def _cpn_files() -> Target:
    from cepheid.formal.petri.export.cpn.file import to_cpn
    from cepheid.formal.petri.translate import translate

    texts = []
    for text in (
        "@Name('S') insert into S select a.id as i from pattern [every a=A(v > 1) -> b=B]",
        "@Name('T') insert into T select count(*) as n from A#length(2)",
    ):
        translation = translate(cep.parse(text, types=TYPES).resolve())
        texts.append(to_cpn(translation.net, translation.marking([], 0, 0), {}).encode())
    return Target(texts, _cpn)


def _cpn(mutant: bytes, random: Random) -> None:
    from cepheid.formal.petri.export.cpn.reading import from_cpn

    from_cpn(_text_of(mutant))


TARGETS: dict[str, Callable[[], Target]] = {
    "epl": _programs("epl", "*/*.epl"),
    "vepl": _programs("vepl", "*/*.vepl"),
    "bicepl": _programs("bicepl", "*/*.bicepl"),
    "queries": _queries,
    "program-json": _program_json,
    "jsonl": _event_files(".jsonl", _jsonl),
    "csv": _event_files(".csv", _csv),
    "parquet": _event_files(".parquet", _parquet),
    "events": _event_files(".events", _scenario_events),
    "frames": _frames,
    "state": _states,
    "scenario": _scenarios,
    "environment": _environments,
    "graph": _graphs,
    "pipeline": _pipelines,
    "executors": _executors,
    "cpn": _cpn_files,
}

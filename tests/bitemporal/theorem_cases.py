"""Programs and histories that keep what theorems 4.9 and 4.11 ask for, over hours, so that life spans end.

Times are minutes. Conditions of queries keep the observation spans (E4) whatever comes; histories keep the rest: an event
is told at most its freezing time after it was first said to occur (E1), changes until then only (E2), and moves by at most
that much (E3).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from random import Random

from tests.bitemporal.generator import Case

MINUTE = 60
EDGES = (
    "ANNOUNCEMENT",
    "CANCELLATION",
    "CHANGE",
    "ONTIME",
    "LATE",
    "LATE(0s, 10m)",
    "FUTURE",
    "FUTURECANCEL",
    "RETROACTIVECHANGE",
    "POSTPONE",
    "REVOCATION",
)
MORE = ("NEW.x > 1", "OLD.x <> NEW.x", "NEW > NOW", "(NEW - 10m) < NOW", "NOW > NEW + 1h")


@dataclass(frozen=True, slots=True)
class Settings:
    """What makes a program: its freezing times and the observation span, in minutes."""

    freezing: dict[str, int]
    span: int

    @property
    def longest(self) -> int:
        return max(self.freezing.values())


def settings(rng: Random) -> Settings:
    freezing = {name: rng.choice((5, 10, 20)) for name in "ABE"}
    return Settings(freezing, rng.choice((10, 20, 40)))


# Programs


def monotone_program(rng: Random, chosen: Settings) -> str:
    """Joins on keys, one class above another."""
    parts = [_subscribed(rng, name, minutes) for name, minutes in chosen.freezing.items()]
    span = chosen.span
    tie = rng.choice(("a.k = b.k", "a.x = b.k"))
    more = rng.choice(("", " AND a.x > 0", " AND b.x <> 3"))
    when = rng.choice(("a", "b", "MAX(a, b)", "MIN(a, b)", "a + 5m", "b - 10m"))
    near = f"a BETWEEN b - {span}m AND b + {span}m"
    query = f"SELECT a.k, b.x FROM A a, B b WHERE {tie} AND {near}{more} OCCURRING AT {when}"
    parts.append(_complex(rng, "C", span, query))
    if rng.random() < 0.5:
        return "\n".join(parts)
    near = f"c BETWEEN e - {span}m AND e + {span}m"
    query = (
        f"SELECT c.k, c.x FROM C c, E e WHERE c.k = e.k AND {near} OCCURRING AT {rng.choice('ce')}"
    )
    parts.append(_complex(rng, "D", span, query))
    return "\n".join(parts)


def negating_program(rng: Random, chosen: Settings) -> str:
    """What must be missing lies near, and no event occurs before those that it is made of."""
    freezing = dict.fromkeys(chosen.freezing, chosen.longest)
    edges = [edge for edge in EDGES if not edge.startswith("LATE")]
    edges += [f"LATE(0s, {2 * chosen.longest}m)"]
    parts = [_subscribed(rng, name, minutes, edges) for name, minutes in freezing.items()]
    span = chosen.span
    negated = f"NOT EXISTS (SELECT * FROM B b WHERE b.k = a.k AND b BETWEEN a - {span}m AND a)"
    counted = f"(SELECT COUNT(*) AS n FROM B b WHERE b.x = a.x AND b BETWEEN a - {span}m AND a)"
    query = rng.choice(
        (
            f"SELECT a.k, a.x FROM A a WHERE {negated}",
            f"SELECT a.k, {counted} AS x FROM A a",
            f"SELECT a.k, b.x FROM A a LEFT JOIN B b ON a.k = b.k AND b BETWEEN a - {span}m AND a",
        )
    )
    when = rng.choice(("a", "a + 5m"))
    parts.append(_complex(rng, "C", span, f"{query} OCCURRING AT {when}", edges))
    near = f"c BETWEEN e - {span}m AND e + {span}m"
    query = f"SELECT c.k, c.x FROM C c, E e WHERE c.k = e.k AND {near} OCCURRING AT MAX(c, e)"
    parts.append(_complex(rng, "D", span, query, edges))
    return "\n".join(parts)


def _subscribed(rng: Random, name: str, minutes: int, edges: list[str] | None = None) -> str:
    head = f"CREATE MUTABLE SUBSCRIBED EVENT CLASS {name}(k INTEGER, x INTEGER) ID (k)"
    return f"{head} FREEZING TIME ({minutes}m){_reactions(rng, edges)};"


def _complex(rng: Random, name: str, span: int, query: str, edges: list[str] | None = None) -> str:
    head = f"CREATE COMPLEX EVENT CLASS {name}(k INTEGER, x INTEGER) ID (k)"
    return f"{head} OBSERVATION SPAN ({span}m)\nAS {query}{_reactions(rng, edges)};"


def _reactions(rng: Random, edges: list[str] | None) -> str:
    chosen = [_condition(rng, edges or list(EDGES)) for _ in range(rng.choice((1, 2, 3, 4)))]
    found = [f"ON {condition} DO act{n}(NEW.x, OLD.x)" for n, condition in enumerate(chosen)]
    return "\n" + ",\n".join(found)


def _condition(rng: Random, edges: list[str]) -> str:
    edge, other, more = rng.choice(edges), rng.choice(edges), rng.choice(MORE)
    return rng.choice(
        (edge, edge, f"{edge} AND {more}", f"({edge} OR {other})", f"{edge} AND NOT {more}")
    )


# Histories


def history(
    rng: Random, freezing: dict[str, int], span: int, hours: int = 6
) -> list[dict[str, object]]:
    """Some events with one key each, spread over hours, each near the others of its key."""
    records: list[dict[str, object]] = []
    for key in range(1, rng.choice((3, 5, 8))):
        base = rng.randint(0, 60 * hours - 90)
        for name, minutes in freezing.items():
            if rng.random() < 0.85:
                incept = base + rng.choice((0, span, rng.randint(0, span)))
                records += _versions(rng, name, key, incept, minutes)
    return [*records, {"@time": hours * 60 * MINUTE}]


def _versions(
    rng: Random, name: str, key: int, incept: int, freezing: int
) -> list[dict[str, object]]:
    late = incept + rng.choice((freezing, rng.randint(0, freezing)))
    det = max(incept - rng.randint(0, 30), 0) if rng.random() < 0.4 else late
    occ = incept
    found: list[dict[str, object]] = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        record: dict[str, object] = {"@type": name, "k": key, "@detected": det * MINUTE}
        if found and "@retracted" not in found[-1] and rng.random() < 0.2:
            record["@retracted"] = True
        else:
            record |= {"@time": occ * MINUTE, "x": rng.choice((0, 1, 2, 3))}
        found.append(record)
        if det >= incept + freezing:
            break
        det = rng.choice((incept + freezing, rng.randint(det + 1, incept + freezing)))
        occ = max(incept + rng.choice((-1, 0, 0, 1)) * rng.choice((freezing, 3)), 0)
    return found


def outages(rng: Random, records: list[dict[str, object]]) -> list[tuple[int, int]]:
    """Rounds that are missed, though not those in which something is learnt (E2)."""
    if rng.random() < 0.5:
        return []
    told = sorted({int(str(r["@detected"])) for r in records if "@detected" in r})
    gaps = [(a, b) for a, b in pairwise(told) if b - a > 3 * MINUTE]
    return [(a + MINUTE, b) for a, b in gaps if rng.random() < 0.3]


def monotone_case(seed: int) -> Case:
    rng = Random(seed)
    chosen = settings(rng)
    text = monotone_program(rng, chosen)
    records = history(rng, chosen.freezing, chosen.span)
    return Case(text, records, outages(rng, records))


def negating_case(seed: int) -> Case:
    rng = Random(seed)
    chosen = settings(rng)
    text = negating_program(rng, chosen)
    records = history(rng, dict.fromkeys(chosen.freezing, chosen.longest), chosen.span)
    return Case(text, records, outages(rng, records))

"""Random programs with classes, and random histories: small alphabets, so that much happens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

MINUTE = 60
ATTRIBUTES = "k INTEGER, x INTEGER, s TEXT, n NUMBER, t TIMESTAMP, f BOOLEAN"
KEYS = (1, 2, 3)
EDGES = (
    "ANNOUNCEMENT",
    "CANCELLATION",
    "CHANGE",
    "ONTIME",
    "LATE",
    "LATE(0s, 3m)",
    "LATE(2m, 6m)",
    "LATE(90s, 4m)",
    "FUTURE",
    "FUTURECANCEL",
    "RETROACTIVECHANGE",
    "POSTPONE",
    "REVOCATION",
)
COMPARISONS = (
    "NEW.x > 1",
    "OLD.x <> NEW.x",
    "NEW.x = OLD.x",
    "NEW.x IS NULL",
    "NEW.s = 'a'",
    "(NEW - 2m) < NOW",
    "(NEW + 90s) >= NOW",
    "NEW.occ = NOW",
    "OLD.occ <= NOW",
    "NOW - NEW.occ > 3m",
    "OLD < NEW",
    "NEW.occ - OLD.occ > 60",
    "NEW.det < NEW.occ",
    "(NEW.det + 3m) > NOW",
    "NOW - OLD.det > 2m",
    "NEW.s IN ('a', 'c')",
    "NEW.f",
    "NEW.n * 2 > OLD.n",
    "NEW.t > NOW",
    "(NEW.t + 2m) <= NOW",
    "NEW.t < NEW",
    "(NEW.n / 2 < 1 OR NEW.s LIKE 'a%')",
)


@dataclass(frozen=True, slots=True)
class Case:
    text: str
    records: list[dict[str, object]]
    outages: list[tuple[int, int]]
    chronon: str = "1m"


def case(rng: Random, *, sql: bool = True) -> Case:
    text = program(rng, sql=sql)
    outages = [(begin, begin + rng.choice((60, 130, 300))) for begin in _outages(rng)]
    return Case(text, history(rng, text), outages, rng.choice(("1m", "1m", "1m", "30s", "2m")))


def _outages(rng: Random) -> list[int]:
    return [rng.randint(0, 30 * MINUTE) for _ in range(rng.choice((0, 0, 1, 2)))]


# Programs -------------------------------------------------------------------------------------


def program(rng: Random, *, sql: bool = True) -> str:
    """Two or three subscribed classes, and up to three that are derived from those before."""
    names = ["A", "B", "C"][: rng.choice((1, 2, 2, 3))]
    parts = [_subscribed(rng, name) for name in names]
    known = list(names)
    for number in range(rng.choice((0, 1, 2, 3)) if sql else 0):
        name = f"D{number}"
        parts.append(_complex(rng, name, known))
        known.append(name)
    return "\n".join(parts)


def _subscribed(rng: Random, name: str) -> str:
    kind = rng.choice(("MUTABLE", "MUTABLE", "MUTABLE", "IMMUTABLE"))
    freezing = rng.choice(("2m", "8m", "20m", "1d"))
    return (
        f"CREATE {kind} SUBSCRIBED EVENT CLASS {name}({ATTRIBUTES}) ID (k)\n"
        f"FREEZING TIME ({freezing}){_reactions(rng)};"
    )


def _complex(rng: Random, name: str, known: list[str]) -> str:
    shape = rng.choice(_CHOICES)
    select = SHAPES[shape](rng, known)
    span = rng.choice(("5m", "10m", "1h"))
    return (
        f"-- {shape}\n"
        f"CREATE COMPLEX EVENT CLASS {name}({ATTRIBUTES}) ID (k)\n"
        f"OBSERVATION SPAN ({span})\nAS {select}{_reactions(rng)};"
    )


def _reactions(rng: Random) -> str:
    count = rng.choice((0, 1, 2, 3))
    found = [f"ON {_condition(rng)} DO {_action(rng, n)}" for n in range(count)]
    return "\n" + ",\n".join(found) if found else ""


def _condition(rng: Random, depth: int = 0) -> str:
    roll = rng.random()
    if roll < 0.5 or depth > 1:
        return rng.choice(EDGES if rng.random() < 0.8 else COMPARISONS)
    if roll < 0.75:
        return f"{_condition(rng, depth + 1)} AND {_condition(rng, depth + 1)}"
    if roll < 0.9:
        return f"({_condition(rng, depth + 1)} OR {_condition(rng, depth + 1)})"
    return f"NOT ({_condition(rng, depth + 1)})"


def _action(rng: Random, number: int) -> str:
    arguments = rng.choice(
        (
            "",
            "NEW.x",
            "OLD.s, NEW.occ",
            "NOW, NEW",
            "format('%s at %t is %n', NEW.s, NEW.occ, NEW.x)",
            "NEW.x + OLD.x",
            "NEW.n, NEW.t, OLD.f",
        )
    )
    return f"act{number}_{len(arguments)}({arguments})"


def _when(rng: Random, *aliases: str) -> str:
    first = aliases[0]
    shifts = ("", "", " + 1m", " - 2m", " + 30s")
    if len(aliases) > 1 and rng.random() < 0.4:
        return f"{rng.choice(('MIN', 'MAX'))}({', '.join(aliases)}){rng.choice(shifts)}"
    return f"{first}{rng.choice(shifts)}"


def _filter(rng: Random, alias: str) -> str:
    return rng.choice((f"{alias}.x > 0", f"{alias}.x < 3", f"{alias}.s <> 'b'", f"{alias}.k < 3"))


def _one(rng: Random, known: list[str]) -> str:
    a = rng.choice(known)
    x = rng.choice(("a.x", "a.x * 2", "CASE WHEN a.x > 1 THEN a.k ELSE a.x END", "a.k - 1"))
    where = f" WHERE {_filter(rng, 'a')}" if rng.random() < 0.7 else ""
    return (
        f"SELECT a.k, {x} AS x, a.s, {_rest(rng)} FROM {a} a{where} OCCURRING AT {_when(rng, 'a')}"
    )


def _join(rng: Random, known: list[str]) -> str:
    a, b = rng.choice(known), rng.choice(known)
    more = rng.choice(("", f" AND {_filter(rng, 'b')}", " AND (a + 4m) > b", " AND a.x <= b.x"))
    if rng.random() < 0.5:
        source = f"{a} a, {b} b WHERE a.k = b.k{more}"
    else:
        source = f"{a} a JOIN {b} b ON a.k = b.k{more}"
    return (
        f"SELECT a.k, b.x, a.s, {_rest(rng, 'b')} FROM {source} OCCURRING AT {_when(rng, 'a', 'b')}"
    )


def _join_of_three(rng: Random, known: list[str]) -> str:
    a, b, c = (rng.choice(known) for _ in range(3))
    tie = rng.choice(("c.x = b.k", "c.k = a.x", "c.k = b.k"))
    return (
        f"SELECT DISTINCT a.k, a.x, b.s, a.n, b.t, a.f FROM {a} a, {b} b, {c} c WHERE a.k = b.k AND {tie}"
        f" OCCURRING AT {_when(rng, 'a', 'b')}"
    )


def _without(rng: Random, known: list[str]) -> str:
    a, b = rng.choice(known), rng.choice(known)
    word = rng.choice(("NOT EXISTS", "NOT EXISTS", "EXISTS"))
    tie = rng.choice(("b.k = a.k", "b.x = a.k", "b.k = a.k AND b.x > a.x", "b.k = a.k AND b > a"))
    return (
        f"SELECT a.k, a.x, a.s, {_rest(rng)} FROM {a} a WHERE {word} (SELECT * FROM {b} b WHERE {tie})"
        f" OCCURRING AT {_when(rng, 'a')}"
    )


def _member(rng: Random, known: list[str]) -> str:
    a, b = rng.choice(known), rng.choice(known)
    word = rng.choice(("IN", "NOT IN"))
    x = rng.choice("kx")
    inner = f"SELECT b.{x} FROM {b} b" + rng.choice(("", f" WHERE {_filter(rng, 'b')}"))
    if rng.random() < 0.3:
        inner += f" {rng.choice(('UNION', 'UNION ALL'))} SELECT c.x FROM {a} c WHERE c.k = a.k"
    more = rng.choice(("", "", " OR a.x > 2"))
    return (
        f"SELECT a.k, a.x, a.s, {_rest(rng)} FROM {a} a WHERE a.{x} {word} ({inner}){more}"
        f" OCCURRING AT {_when(rng, 'a')}"
    )


def _outer(rng: Random, known: list[str]) -> str:
    a, b = rng.choice(known), rng.choice(known)
    x = rng.choice(("b.x", "COALESCE(b.x, 7)", "a.x"))
    return (
        f"SELECT a.k, {x} AS x, b.s, a.n, b.t, b.f FROM {a} a LEFT JOIN {b} b ON a.k = b.k AND {_filter(rng, 'b')}"
        f" OCCURRING AT {_when(rng, 'a')}"
    )


def _grouped(rng: Random, known: list[str]) -> str:
    a = rng.choice(known)
    value = rng.choice(("COUNT(*)", "SUM(a.k)", "MAX(a.k)", "MIN(a.x)", "COUNT(DISTINCT a.s)"))
    having = rng.choice(("", "", " HAVING COUNT(*) > 1"))
    when = rng.choice(("MAX(a)", "MIN(a)", "MAX(a) + 1m"))
    numbers = rng.choice(("SUM(a.n)", "AVG(a.n)", "MAX(a.n)", "AVG(a.x)"))
    return (
        f"SELECT a.x AS k, {value} AS x, MAX(a.s) AS s, {numbers} AS n, MIN(a.t) AS t, COUNT(*) > 1 AS f FROM {a} a"
        f" WHERE a.x IS NOT NULL"
        f" GROUP BY a.x{having} OCCURRING AT {when}"
    )


def _united(rng: Random, known: list[str]) -> str:
    a, b = rng.choice(known), rng.choice(known)
    kind = rng.choice(("UNION", "UNION ALL"))
    columns = "a.x, a.s, a.n, a.t, a.f"
    return (
        f"SELECT a.k, {columns} FROM {a} a WHERE a.x > 1 {kind}"
        f" SELECT a.k + 10 AS k, {columns} FROM {b} a WHERE a.x <= 1 OCCURRING AT a"
    )


def _counted(rng: Random, known: list[str]) -> str:
    a, b = rng.choice(known), rng.choice(known)
    return (
        f"SELECT a.k, (SELECT COUNT(*) FROM {b} b WHERE b.x = a.x) AS x, a.s, {_rest(rng)}"
        f" FROM {a} a OCCURRING AT {_when(rng, 'a')}"
    )


def _nested(rng: Random, known: list[str]) -> str:
    a, b = rng.choice(known), rng.choice(known)
    inner = f"SELECT b.x AS v, COUNT(*) AS c FROM {b} b WHERE b.x IS NOT NULL GROUP BY b.x"
    return (
        f"SELECT a.k, q.c AS x, a.s, {_rest(rng)} FROM {a} a JOIN ({inner}) q ON q.v = a.k"
        f" OCCURRING AT {_when(rng, 'a')}"
    )


def _deep(rng: Random, known: list[str]) -> str:
    a, b, c = (rng.choice(known) for _ in range(3))
    inner = f"SELECT c.k FROM {c} c WHERE c.x = b.x"
    return (
        f"SELECT a.k, a.x, a.s, {_rest(rng)} FROM {a} a WHERE EXISTS (SELECT * FROM {b} b"
        f" WHERE b.k = a.k AND NOT EXISTS ({inner})) OCCURRING AT a"
    )


def _member_of_groups(rng: Random, known: list[str]) -> str:
    a, b = rng.choice(known), rng.choice(known)
    word = rng.choice(("IN", "NOT IN"))
    inner = rng.choice(
        (
            f"SELECT COUNT(*) FROM {b} b GROUP BY b.s",
            f"SELECT b.x FROM {b} b GROUP BY b.x HAVING COUNT(*) > 1",
            f"SELECT MAX(b.x) FROM {b} b HAVING COUNT(*) > 1",
            f"SELECT MAX(b.k) FROM {b} b WHERE b.x >= a.x",
            f"SELECT MIN(b.x) FROM {b} b WHERE b.k = a.k UNION SELECT c.k FROM {a} c",
        )
    )
    return (
        f"SELECT a.k, a.x, a.s, {_rest(rng)} FROM {a} a WHERE a.x {word} ({inner})"
        f"{rng.choice(('', ' OR a.k = 2'))} OCCURRING AT {_when(rng, 'a')}"
    )


def _member_of_tied_groups(rng: Random, known: list[str]) -> str:
    a, b = rng.choice(known), rng.choice(known)
    word = rng.choice(("IN", "NOT IN"))
    tie = rng.choice(("b.k = a.k", "b.x <= a.x"))
    return (
        f"SELECT a.k, a.x, a.s, {_rest(rng)} FROM {a} a WHERE a.x {word} (SELECT COUNT(*) FROM {b} b"
        f" WHERE {tie} GROUP BY b.s) OCCURRING AT {_when(rng, 'a')}"
    )


def _tied_table(rng: Random, known: list[str]) -> str:
    a, b = rng.choice(known), rng.choice(known)
    inner = (
        f"SELECT b.x, COUNT(*) AS c FROM {b} b WHERE b.k {rng.choice(('=', '<>'))} a.k GROUP BY b.x"
    )
    if rng.random() < 0.5:
        x, where = f"(SELECT SUM(q.c) FROM ({inner}) q WHERE q.x > 0)", ""
    else:
        x = "a.x"
        where = f" WHERE {rng.choice(('', 'NOT '))}EXISTS (SELECT * FROM ({inner}) q WHERE q.c > 1)"
    return (
        f"SELECT a.k, {x} AS x, a.s, {_rest(rng)} FROM {a} a{where} OCCURRING AT {_when(rng, 'a')}"
    )


def _grouped_beside(rng: Random, known: list[str]) -> str:
    """Aggregates that are compared with those of subqueries."""
    a, b = rng.choice(known), rng.choice(known)
    having = rng.choice(
        (
            f"COUNT(*) >= (SELECT COUNT(*) FROM {b} b WHERE b.x = a.x)",
            f"COUNT(*) IN (SELECT b.x FROM {b} b)",
            f"MAX(a.k) NOT IN (SELECT COUNT(*) FROM {b} b GROUP BY b.x)",
            f"EXISTS (SELECT * FROM {b} b WHERE b.k = a.x)",
        )
    )
    x = rng.choice(("COUNT(*)", f"COUNT(*) + (SELECT COUNT(*) FROM {b} c)"))
    return (
        f"SELECT a.x AS k, {x} AS x, MAX(a.s) AS s, SUM(a.n) AS n, MIN(a.t) AS t, TRUE AS f FROM {a} a"
        f" WHERE a.x IS NOT NULL GROUP BY a.x HAVING {having} OCCURRING AT MAX(a)"
    )


def _summed(rng: Random, known: list[str]) -> str:
    """An aggregate of all rows, of which there may be none."""
    a, b = rng.choice(known), rng.choice(known)
    whole = (
        f"SELECT COUNT(*) AS c, MAX(b.s) AS s, MAX(b.t) AS t FROM {b} b WHERE {_filter(rng, 'b')}"
    )
    return rng.choice(
        (
            f"SELECT 1 AS k, COUNT(*) AS x, MAX(b.s) AS s, SUM(b.n) AS n, MIN(b.t) AS t, TRUE AS f FROM {b} b"
            f" WHERE {_filter(rng, 'b')} OCCURRING AT {rng.choice(('MAX(b)', 'COALESCE(MIN(b), MAX(b.t))'))}",
            f"SELECT a.k, q.c AS x, q.s, a.n, q.t, a.f FROM {a} a, ({whole}) q OCCURRING AT a",
            f"SELECT a.k, q.c AS x, q.s, a.n, q.t, a.f FROM ({whole}) q JOIN {a} a ON a.x <= q.c OCCURRING AT a",
        )
    )


def _keyed_outside(rng: Random, known: list[str]) -> str:
    """A key that comes from an outer join."""
    a, b = rng.choice(known), rng.choice(known)
    return (
        f"SELECT COALESCE(b.k + 20, a.k) AS k, a.x, b.s, {_rest(rng)} FROM {a} a"
        f" LEFT JOIN {b} b ON b.k = a.k AND {_filter(rng, 'b')} OCCURRING AT {_when(rng, 'a')}"
    )


def _hiding(rng: Random, known: list[str]) -> str:
    """Names inside of subqueries that hide those around them."""
    a, b, c = (rng.choice(known) for _ in range(3))
    inner = f"SELECT * FROM {c} a WHERE a.x = b.k"
    source = rng.choice((f"{a} a", f"{a} a LEFT JOIN {b} q ON q.k = a.k AND q.x > 0"))
    return (
        f"SELECT a.k, a.x, a.s, {_rest(rng)} FROM {source} WHERE {rng.choice(('', 'NOT '))}EXISTS"
        f" (SELECT * FROM {b} b WHERE b.x >= a.x AND EXISTS ({inner}))"
        f" OCCURRING AT {_when(rng, 'a')}"
    )


def _counted_twice(rng: Random, known: list[str]) -> str:
    a, b, c = (rng.choice(known) for _ in range(3))
    value = rng.choice(("MAX(b.x)", "COUNT(*)"))
    return (
        f"SELECT a.k, (SELECT {value} + (SELECT COUNT(*) FROM {c} c) FROM {b} b WHERE b.x = a.k) AS x,"
        f" a.s, {_rest(rng)} FROM {a} a OCCURRING AT {_when(rng, 'a')}"
    )


def _named_once(rng: Random, known: list[str]) -> str:
    a, b = rng.choice(known), rng.choice(known)
    return (
        f"WITH w AS (SELECT b.k, b.x FROM {b} b WHERE {_filter(rng, 'b')})"
        f" SELECT DISTINCT a.k, v.x, a.s, a.n, a.t, a.f FROM {a} a {rng.choice(('', 'LEFT '))}JOIN w v ON v.k = a.k"
        f" WHERE a.x IN (SELECT w.x FROM w) OR NOT EXISTS (SELECT * FROM w WHERE w.x = a.k)"
        f" OCCURRING AT {_when(rng, 'a')}"
    )


def _rest(rng: Random, other: str = "a") -> str:
    n = rng.choice(("a.n", f"{other}.n + 1", "(a.det - a.occ)", f"{other}.x / 2", "ROUND(a.n, 1)"))
    t = rng.choice((f"{other}.t", "a.t + 1m", f"{other}.occ", f"GREATEST(a.occ, {other}.t)"))
    f = rng.choice(("a.f", f"{other}.x > 1", f"NOT {other}.f"))
    return f"{n} AS n, {t} AS t, {f} AS f"


SHAPES: dict[str, Callable[[Random, list[str]], str]] = {
    "one class": _one,
    "a join": _join,
    "a join of three": _join_of_three,
    "a subquery": _without,
    "a member": _member,
    "an outer join": _outer,
    "groups": _grouped,
    "a count": _counted,
    "a union": _united,
    "a derived table": _nested,
    "subqueries in a subquery": _deep,
    "a member of groups": _member_of_groups,
    "a member of tied groups": _member_of_tied_groups,
    "a tied table": _tied_table,
    "groups beside a subquery": _grouped_beside,
    "an aggregate of all": _summed,
    "a key from an outer join": _keyed_outside,
    "a name that hides another": _hiding,
    "a count in a count": _counted_twice,
    "a query with a name": _named_once,
}
_CHOICES = (*SHAPES, "a join", "a subquery", "one class")


# Histories ------------------------------------------------------------------------------------


def history(rng: Random, text: str) -> list[dict[str, object]]:
    """Versions and retractions of few events, most of them near their occurrence."""
    names = [name for name in "ABC" if f"CLASS {name}(" in text]
    records: list[dict[str, object]] = []
    for name in names:
        for key in KEYS:
            if rng.random() < 0.8:
                records += _versions(rng, name, key)
    rng.shuffle(records)
    return [*records, {"@time": rng.randint(25, 40) * MINUTE}]


def _versions(rng: Random, name: str, key: int) -> list[dict[str, object]]:
    records: list[dict[str, object]] = []
    occ = rng.randint(4, 25) * MINUTE + rng.choice((0, 0, 15))
    det = occ + rng.choice((-4, -2, -1, 0, 0, 1, 3)) * MINUTE + rng.choice((0, 0, 20))
    for _ in range(rng.choice((1, 1, 2, 3, 4))):
        record: dict[str, object] = {"@type": name, "k": key, "@detected": max(det, 0)}
        if rng.random() < 0.15:
            record["@retracted"] = True
        else:
            record |= {
                "@time": max(occ, 0),
                "x": rng.choice((0, 1, 2, 3, None)),
                "s": rng.choice(("a", "b", None)),
                "n": rng.choice((0.1, 0.2, 1.25, 3.0, None)),
                "t": max(occ + rng.choice((-180, 0, 120, 200)), 0) if rng.random() < 0.8 else None,
                "f": rng.choice((True, False, None)),
            }
        records.append(record)
        if rng.random() < 0.2:
            records.append({**record, "@detected": max(det, 0) + rng.choice((0, 60))})
        det += rng.choice((0, 1, 1, 2, 5)) * MINUTE + rng.choice((0, 10))
        occ += rng.choice((0, 0, 0, -3, 2, 5)) * MINUTE + rng.choice((0, 0, 40))
    return records

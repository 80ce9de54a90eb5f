"""Resolved trees as the SQL of an engine.

The meaning is that of Spark's ANSI mode. What SQLite computes in another way goes through the Python
functions of sqlite.py; comparisons, joins and sums of times stay its own, so that its indexes serve
them. In both engines a number that is none (infinity less infinity) is null.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, TypeAlias

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.dialects.sqlite import SQLite

from cepheid.sql.nodes import Message, Type, whole, wrapped

Engine: TypeAlias = Literal["sqlite", "spark"]
Rewrite: TypeAlias = Callable[[exp.Expr], exp.Expr]


def to_sql(tree: exp.Expr, engine: Engine) -> str:
    """The SQL of a query, or of an expression over columns; all names are quoted."""
    generate, rewrites = _ENGINES[engine]
    return generate(_rewritten(tree.copy(), rewrites))


def _rewritten(tree: exp.Expr, rewrites: dict[type[exp.Expr], Rewrite]) -> exp.Expr:
    """Every node replaced once, the innermost first."""
    for node in reversed(list(tree.bfs())):
        rewrite = rewrites.get(type(node))
        if rewrite is None:
            continue
        found = rewrite(node)
        if found is node:
            continue
        if node is tree:
            tree = found
        else:
            node.replace(found)
    return tree


def _call(function: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=function, expressions=list(arguments))


def _is(node: exp.Expr, type_: Type) -> bool:
    return bool(node.is_type(type_))


def _constant(node: exp.Expr) -> float | None:
    bare = node.unnest()
    is_number = isinstance(bare, exp.Literal) and not bare.is_string
    return float(bare.name) if is_number else None


def _raw(sql: str) -> exp.Expr:
    return exp.Var(this=sql)


def _kept(node: exp.Expr, found: exp.Expr) -> exp.Expr:
    """What replaces a node has its type."""
    found.type = node.type
    return found


# SQLite


def _sqlite_arithmetic(function: str, node: exp.Expr) -> exp.Expr:
    """SQLite makes doubles of integers that grow too large; times never do."""
    has_time = any(_is(part, Type.TIMESTAMP) for part in (node.this, node.expression))
    if not _is(node, Type.BIGINT) or has_time:
        return node
    return _kept(node, _call(function, node.this, node.expression))


def _sqlite_negative(node: exp.Expr) -> exp.Expr:
    is_whole = _is(node, Type.BIGINT)
    return _kept(node, _call("cepheid_negative", node.this)) if is_whole else node


def _sqlite_division(node: exp.Expr) -> exp.Expr:
    """Division by zero would be null."""
    if _constant(node.expression):
        is_double = _is(node.this, Type.DOUBLE)
        left = (
            node.this
            if is_double
            else exp.Cast(this=node.this.copy(), to=exp.DataType(this=Type.DOUBLE))
        )
        return _kept(node, exp.Div(this=left, expression=node.expression, typed=True))
    return _kept(node, _call("cepheid_divide", node.this, node.expression))


def _sqlite_modulo(node: exp.Expr) -> exp.Expr:
    if not _is(node, Type.DOUBLE) and _constant(node.expression):
        return node
    return _kept(node, _call("cepheid_modulo", node.this, node.expression))


def _sqlite_extreme(function: str, node: exp.Expr) -> exp.Expr:
    """SQLite's own is null if one value is."""
    values = [node.this, *node.expressions]
    if node.meta.get("never_null"):
        return _kept(node, _call(function, *values))
    rotated = (
        exp.Coalesce(
            this=values[n].copy(), expressions=[v.copy() for v in values[n + 1 :] + values[:n]]
        )
        for n in range(len(values))
    )
    return _kept(node, _call(function, *rotated))


def _sqlite_function(function: str, *parts: str) -> Rewrite:
    def rewrite(node: exp.Expr) -> exp.Expr:
        arguments = (node.args.get(part) for part in parts)
        return _kept(node, _call(function, *(a for a in arguments if a is not None)))

    return rewrite


def _sqlite_cast(node: exp.Expr) -> exp.Expr:
    source, target, inner = node.this, node.args["to"].this, node.this
    if isinstance(source.unnest(), exp.Null):
        return exp.Null()
    if target == Type.DOUBLE and not _is(source, Type.TEXT):
        return node
    if target == Type.BIGINT and (_is(source, Type.BOOLEAN) or _is(source, Type.BIGINT)):
        return node
    if target == Type.TEXT and _is(source, Type.BIGINT):
        return node
    if target == Type.BOOLEAN and not _is(source, Type.TEXT):
        return _kept(node, wrapped(exp.NEQ(this=wrapped(inner.copy()), expression=whole(0))))
    function = {
        Type.DOUBLE: "number",
        Type.BIGINT: "integer",
        Type.TEXT: "text",
        Type.BOOLEAN: "boolean",
    }
    return _kept(node, _call(f"cepheid_to_{function[target]}", inner))


def _sqlite_total(node: exp.Expr) -> exp.Expr:
    inner = node.this.expressions[0] if isinstance(node.this, exp.Distinct) else node.this
    kind = "integers" if _is(inner, Type.BIGINT) else "numbers"
    what = "sum" if isinstance(node, exp.Sum) else "average"
    return _kept(node, _call(f"cepheid_{what}_of_{kind}", node.this))


def _sqlite_join(node: exp.Expr) -> exp.Expr:
    """CROSS JOIN forbids SQLite to choose the order of its loops, which `ordered` ones want."""
    if node.args.get("kind") == "CROSS" and not node.meta.get("ordered"):
        node.set("kind", None)
    return node


def ordered_join(source: exp.Expr) -> exp.Join:
    """A join that SQLite does after what stands before it."""
    join = exp.Join(this=source, kind="CROSS")
    join.meta["ordered"] = True
    return join


def _sqlite_text(node: exp.Expr) -> exp.Expr:
    """A character that would end the statement is put in by its number."""
    if not node.is_string or "\0" not in node.name:
        return node
    parts = [exp.Literal.string(part) for part in node.name.split("\0")]
    found: exp.Expr = parts[0]
    for part in parts[1:]:
        zero = _call("CHAR", exp.Literal(this="0", is_string=False))
        found = exp.DPipe(this=exp.DPipe(this=found, expression=zero), expression=part)
    return _kept(node, exp.Paren(this=found))


def _sqlite_message(node: exp.Expr) -> exp.Expr:
    texts = (_sqlite_text(exp.Literal.string(text)) for text in (node.this, node.args["kinds"]))
    return _kept(node, _call("cepheid_format", *texts, *node.expressions))


_SQLITE: dict[type[exp.Expr], Rewrite] = {
    exp.Literal: _sqlite_text,
    exp.Add: partial(_sqlite_arithmetic, "cepheid_add"),
    exp.Sub: partial(_sqlite_arithmetic, "cepheid_subtract"),
    exp.Mul: partial(_sqlite_arithmetic, "cepheid_multiply"),
    exp.Neg: _sqlite_negative,
    exp.Div: _sqlite_division,
    exp.Mod: _sqlite_modulo,
    exp.Greatest: partial(_sqlite_extreme, "MAX"),
    exp.Least: partial(_sqlite_extreme, "MIN"),
    exp.Like: _sqlite_function("cepheid_like", "this", "expression"),
    exp.Round: _sqlite_function("cepheid_round", "this", "decimals"),
    exp.Floor: _sqlite_function("cepheid_floor", "this"),
    exp.Ceil: _sqlite_function("cepheid_ceil", "this"),
    exp.Sign: _sqlite_function("cepheid_sign", "this"),
    exp.Length: _sqlite_function("cepheid_length", "this"),
    exp.Lower: _sqlite_function("cepheid_lower", "this"),
    exp.Upper: _sqlite_function("cepheid_upper", "this"),
    exp.Substring: _sqlite_function("cepheid_substring", "this", "start", "length"),
    exp.Cast: _sqlite_cast,
    exp.Sum: _sqlite_total,
    exp.Avg: _sqlite_total,
    exp.Join: _sqlite_join,
    Message: _sqlite_message,
}


# Spark


def _spark_literal(node: exp.Expr) -> exp.Expr:
    if node.is_string:
        return _kept(node, _raw(_spark_text(node.name)))
    if _is(node, Type.BIGINT) or _is(node, Type.TIMESTAMP):
        return _kept(node, _raw(f"{node.name}L"))
    if _is(node, Type.DOUBLE):
        return _kept(node, _raw(f"{node.name}D"))
    return node


_PLAIN = re.compile(r"[^ !#%&(-Z^-~\[\]]")


def _spark_text(text: str) -> str:
    """Only plain characters as they are: Spark replaces `${...}` in its SQL, texts included."""

    def escape(match: re.Match[str]) -> str:
        code = ord(match[0])
        return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

    return f"'{_PLAIN.sub(escape, text)}'"


def _may_be_infinite(node: exp.Expr) -> bool:
    bare = node.unnest()
    if isinstance(bare, (exp.Literal, exp.Var)):
        return False
    if isinstance(bare, exp.Cast):
        return not _is(bare.this, Type.BIGINT)
    # Seconds between two times are divided by a constant.
    return not (isinstance(bare, exp.Div) and _is(bare.this.unnest(), Type.BIGINT))


def _spark_arithmetic(node: exp.Expr) -> exp.Expr:
    """In SQLite a result that is no number is null; only infinities lead to one."""
    if not _is(node, Type.DOUBLE):
        return node
    parts = (node.this, node.expression)
    both_needed = not isinstance(node, (exp.Mul, exp.Mod))
    is_risky = (all if both_needed else any)(map(_may_be_infinite, parts))
    return _not_nan(node) if is_risky else node


def _not_nan(node: exp.Expr) -> exp.Expr:
    null = exp.Cast(this=exp.Null(), to=exp.DataType(this=Type.DOUBLE))
    return _kept(node, _call("NANVL", node.copy(), null))


def _spark_cast(node: exp.Expr) -> exp.Expr:
    is_risky = node.args["to"].this == Type.DOUBLE and _is(node.this, Type.TEXT)
    return _not_nan(node) if is_risky else node


def _spark_total(node: exp.Expr) -> exp.Expr:
    """Integers are added exactly, doubles in ascending order: any other order may give other bits."""
    distinct = isinstance(node.this, exp.Distinct)
    inner = node.this.expressions[0] if distinct else node.this
    of = "DISTINCT " if distinct else ""
    value = _spark(inner)
    count = f"COUNT({of}{value})"
    if _is(inner, Type.BIGINT):
        exact = f"SUM({of}CAST({value} AS DECIMAL(20, 0)))"
        total = f"CAST({exact} AS BIGINT)"
        mean = f"(CAST({exact} AS DOUBLE) / {count})"
    else:
        added = f"AGGREGATE(ARRAY_SORT(COLLECT_LIST({of}{value})), 0.0D, (total, value) -> total + value)"
        total = f"IF({count} = 0, CAST(NULL AS DOUBLE), NANVL({added}, CAST(NULL AS DOUBLE)))"
        mean = f"({total} / {count})"
    return _kept(node, _raw(total if isinstance(node, exp.Sum) else mean))


def _spark_substring(node: exp.Expr) -> exp.Expr:
    given = (node.args.get(part) for part in ("start", "length"))
    places = [
        exp.Cast(this=v.copy(), to=exp.DataType(this=Type.INT)) for v in given if v is not None
    ]
    return _kept(node, _call("SUBSTRING", node.this, *places))


def _spark_round(node: exp.Expr) -> exp.Expr:
    digits = node.args["decimals"].unnest().name.rstrip("L")
    return _kept(node, _call("ROUND", node.this, _raw(digits)))


def _spark_whole(function: str) -> Rewrite:
    return lambda node: _kept(node, _call(function, node.this))


def _spark_message(node: exp.Expr) -> exp.Expr:
    """The pieces of the template and the values as texts, one after the other."""
    pieces = split_template(node.this)
    texts = [_spark_text(pieces[0])]
    for kind, value, piece in zip(node.args["kinds"], node.expressions, pieces[1:], strict=True):
        texts.append(f"COALESCE({_SPARK_TEXTS[kind](_spark(value))}, 'null')")
        texts.append(_spark_text(piece))
    return _kept(node, _raw(f"CONCAT({', '.join(t for t in texts if t != chr(39) * 2)})"))


def split_template(template: str) -> list[str]:
    """The texts around the marks of a format."""
    pieces = [""]
    for part in re.split(r"(%.)", template):
        if part == "%%":
            pieces[-1] += "%"
        elif part.startswith("%"):
            pieces.append("")
        else:
            pieces[-1] += part
    return pieces


def _spark_double_text(value: str) -> str:
    """As Python writes it, without a fraction of zero; Java has another form for large and small ones."""
    normal = f"({value} + 0.0D)"
    plain = f"CAST(CAST({normal} AS DECIMAL(38, 21)) AS STRING)"
    short = f"RTRIM('.', RTRIM('0', {plain}))"
    mantissa = f"REPLACE(REPLACE(CAST({normal} AS STRING), '.0E', 'E'), 'E', 'e')"
    signed = f"REGEXP_REPLACE({mantissa}, 'e([0-9])', 'e+$1')".replace("$", "\\u0024")
    padded = f"REGEXP_REPLACE({signed}, 'e-([0-9])\\u0024', 'e-0\\u00241')"
    size = f"ABS({normal})"
    return (
        f"CASE WHEN {normal} = 0D THEN '0' WHEN {size} >= 1e-4D AND {size} < 1e16D THEN {short} "
        f"ELSE {padded} END"
    )


def spark_time_text(value: str) -> str:
    """ISO 8601 by arithmetic alone: the session's time zone has no say in it."""
    day = 86_400_000_000
    days = f"CAST(({value} - PMOD({value}, {day}L)) DIV {day}L AS INT)"
    rest = f"PMOD({value}, {day}L)"
    two = "LPAD(CAST({} AS STRING), 2, '0')".format
    clock = ", ':', ".join(
        (
            two(f"{rest} DIV 3600000000L"),
            two(f"({rest} DIV 60000000L) % 60L"),
            two(f"({rest} DIV 1000000L) % 60L"),
        )
    )
    micros = f"({rest} % 1000000L)"
    digits = f"RTRIM('0', LPAD(CAST({micros} AS STRING), 6, '0'))"
    fraction = f"IF({micros} = 0L, '', CONCAT('.', {digits}))"
    date = f"CAST(DATE_ADD(DATE'1970-01-01', {days}) AS STRING)"
    return f"CONCAT({date}, 'T', {clock}, {fraction}, 'Z')"


_SPARK_TEXTS: dict[str, Callable[[str], str]] = {
    "s": lambda value: value,
    "b": lambda value: f"CAST({value} AS STRING)",
    "i": lambda value: f"CAST({value} AS STRING)",
    "d": _spark_double_text,
    "t": spark_time_text,
}


_SPARK: dict[type[exp.Expr], Rewrite] = {
    exp.Literal: _spark_literal,
    exp.Add: _spark_arithmetic,
    exp.Sub: _spark_arithmetic,
    exp.Mul: _spark_arithmetic,
    exp.Div: _spark_arithmetic,
    exp.Mod: _spark_arithmetic,
    exp.Cast: _spark_cast,
    exp.Sum: _spark_total,
    exp.Avg: _spark_total,
    exp.Substring: _spark_substring,
    exp.Round: _spark_round,
    exp.Floor: _spark_whole("FLOOR"),
    exp.Ceil: _spark_whole("CEIL"),
    Message: _spark_message,
}


# Trees are copied once, by `to_sql`.
_AS_WRITTEN: dict[str, Any] = {
    "identify": True,
    "comments": False,
    "normalize_functions": False,
    "copy": False,
}


def _spark(tree: exp.Expr) -> str:
    return str(Spark().generate(tree, **_AS_WRITTEN))


def _sqlite(tree: exp.Expr) -> str:
    return str(SQLite().generate(tree, **_AS_WRITTEN))


_ENGINES: dict[Engine, tuple[Callable[[exp.Expr], str], dict[type[exp.Expr], Rewrite]]] = {
    "sqlite": (_sqlite, _SQLITE),
    "spark": (_spark, _SPARK),
}

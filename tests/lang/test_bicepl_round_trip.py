"""BiCEPL: what the printer writes, the parser reads back; so do JSON and the builder in Python."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

import cepheid as cep
from cepheid.core.time import SECOND, Period
from cepheid.core.types import Attribute
from cepheid.lang.bicepl.formatter import format_text
from cepheid.lang.bicepl.notation import print_name
from cepheid.lang.bicepl.parser import parse
from cepheid.lang.bicepl.printer import print_class
from cepheid.program.classes import (
    TYPE_NAMES,
    AnyClass,
    ComplexClass,
    Reaction,
    SubscribedClass,
)
from cepheid.program.serialize import from_json, to_json
from cepheid.program.tree import ProgramTree
from cepheid.sql.dialect import Kind, normal_text
from cepheid.sql.text import Sql
from tests.effort import examples
from tests.strategies import NAMES, several

WORDS = NAMES | st.sampled_from(
    ["on", "do", "occurring", "at", "id", "time", "event", "change", "new", "late", "x2"]
)
QUOTED = WORDS.map(print_name)
# Texts with quotes, escapes, line ends, comments and the marks of formats.
TEXTS = st.text("ab'\"\\\n-/*;%s,()é😀", max_size=8).map(
    lambda text: "'" + text.replace("\\", "\\\\").replace("'", "''").replace("\n", "\\n") + "'"
)
TIMES = st.tuples(st.integers(0, 1000), st.sampled_from("smhd")).map(lambda t: f"{t[0]}{t[1]}")
NUMBERS = st.integers(-9, 99).map(str) | st.sampled_from(["1.5", "0.25", "-2.0", "1e3"])


def sql(kind: Kind, texts: SearchStrategy[str]) -> SearchStrategy[Sql]:
    return texts.map(lambda text: Sql(normal_text(kind, text)))


def joined(*parts: SearchStrategy[str], by: str = " ") -> SearchStrategy[str]:
    return st.tuples(*parts).map(by.join)


def values() -> SearchStrategy[str]:
    sides = joined(st.sampled_from(["NEW", "OLD", "new"]), QUOTED, by=".")
    atoms = st.one_of(sides, TEXTS, NUMBERS, st.sampled_from(["NEW", "NOW", "null", "TRUE"]))
    return st.recursive(
        atoms,
        lambda inner: st.one_of(
            joined(inner, st.sampled_from(["+", "-", "*", "||"]), inner).map(lambda t: f"({t})"),
            joined(inner, st.just("-"), TIMES),
            several(inner, 1, 3).map(lambda given: f"format({', '.join(given)})"),
            joined(inner, inner, by=" THEN ").map(
                lambda t: f"CASE WHEN CHANGE THEN 1 WHEN {t} END"
            ),
        ),
        max_leaves=4,
    )


def conditions() -> SearchStrategy[str]:
    primitives = st.sampled_from(
        (
            *("ANNOUNCEMENT", "Cancellation", "change", "ONTIME", "LATE", "FUTURE"),
            *("FUTURECANCEL", "FUTURE CANCEL", "RETROACTIVECHANGE", "POSTPONE", "REVOCATION"),
        )
    )
    late = joined(TIMES, TIMES, by=", ").map(lambda t: f"LATE({t})")
    compared = joined(values(), st.sampled_from(["=", "<>", "<", ">=", "IS NOT"]), values())
    compared = compared.filter(lambda text: "IS NOT" not in text) | values().map(
        "{} IS NULL".format
    )
    return st.recursive(
        primitives | late | compared,
        lambda inner: st.one_of(
            joined(inner, st.sampled_from(["AND", "OR"]), inner),
            inner.map("NOT ({})".format),
            inner.map("({})".format),
        ),
        max_leaves=5,
    )


def selects() -> SearchStrategy[str]:
    columns = joined(QUOTED, QUOTED, by=".") | values()
    item = columns | joined(columns, QUOTED, by=" AS ")
    source = joined(QUOTED, QUOTED)
    inner = joined(QUOTED, QUOTED).map("EXISTS (SELECT * FROM {} WHERE a.b = 1)".format)
    where = conditions() | inner | inner.map("NOT {}".format)
    joins = st.tuples(st.sampled_from(["JOIN", "LEFT JOIN", "CROSS JOIN"]), source, where).map(
        lambda t: f"{t[0]} {t[1]}" + (f" ON {t[2]}" if t[0] != "CROSS JOIN" else "")
    )
    clauses = [
        several(item).map(lambda found: f"SELECT {', '.join(found)}"),
        several(source).map(lambda found: f"FROM {', '.join(found)}"),
        st.just("") | joins,
        st.just("") | where.map("WHERE {}".format),
        st.just("") | several(QUOTED).map(lambda found: f"GROUP BY {', '.join(found)}"),
    ]
    plain = joined(*clauses)
    return plain | joined(plain, st.just("UNION ALL"), plain)


def occurrences() -> SearchStrategy[str]:
    shifted = joined(QUOTED, st.sampled_from("+-"), TIMES)
    return st.one_of(QUOTED, shifted, several(QUOTED, 2).map(lambda n: f"MAX({', '.join(n)})"))


def reactions() -> SearchStrategy[Reaction]:
    return st.builds(
        Reaction, sql("condition", conditions()), WORDS, several(sql("value", values()), 0)
    )


def periods() -> SearchStrategy[Period]:
    return st.integers(0, 10**7).map(lambda seconds: Period(seconds * SECOND))


def classes() -> SearchStrategy[AnyClass]:
    common = {
        "name": WORDS,
        "attributes": several(st.builds(Attribute, WORDS, st.sampled_from([*TYPE_NAMES]))),
        "key": several(WORDS),
        "reactions": several(reactions(), 0),
    }
    subscribed = st.builds(SubscribedClass, **common, freezing=periods(), is_mutable=st.booleans())
    derived = st.builds(
        ComplexClass,
        **common,
        observation=periods(),
        select=sql("select", selects()),
        occurring=sql("time", occurrences()),
    )
    return subscribed | derived


def trees() -> SearchStrategy[ProgramTree]:
    return several(classes(), 0).map(ProgramTree)


@examples(300)
@given(classes())
def test_what_is_printed_reads_back_and_is_in_canonical_form(declared: AnyClass) -> None:
    text = print_class(declared)
    parsed = parse(text)
    assert not parsed.problems, text
    assert parsed.tree.declarations == (declared,)
    assert format_text(text) == text


@examples(100)
@given(trees())
def test_programs_of_classes_survive_text_and_json(tree: ProgramTree) -> None:
    program = cep.Program(tree)
    assert parse(program.to_text("bicepl")).tree == tree
    assert parse(str(program)).tree == tree
    assert from_json(json.loads(json.dumps(to_json(tree)))) == tree


@examples(100)
@given(classes())
def test_the_builder_makes_the_same_classes(declared: AnyClass) -> None:
    attributes = {a.name: TYPE_NAMES[a.type][0] for a in declared.attributes}
    statements = [
        cep.on(each.condition.text).do(each.action, *(a.text for a in each.arguments))
        for each in declared.reactions
    ]
    if isinstance(declared, SubscribedClass):
        built = cep.subscribed_class(
            declared.name,
            attributes,
            *statements,
            key=declared.key,
            freezing=declared.freezing.microseconds // SECOND,
            mutable=declared.is_mutable,
        )
    else:
        built = cep.complex_class(
            declared.name,
            attributes,
            *statements,
            key=declared.key,
            observation=declared.observation.microseconds // SECOND,
            select=declared.select.text,
            occurring=declared.occurring.text,
        )
    if len(attributes) == len(declared.attributes):
        assert built.tree == declared

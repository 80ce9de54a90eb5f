"""Every rule for what comes in gives on Spark what it gives on every other door."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import cepheid as cep
from cepheid.engines.spark.session.failures import failure_of
from tests.doors.cases import CASES, TWO, Case, Row, payment, program_of
from tests.doors.test_matrix import expectation, frames, table

# Spark knows no suggestion for what a row says, and a frame without rows has no columns.
UNSAID = {"an unknown type"}
LEFT_OUT = {"no events at all"}


def spark_frame(spark: SparkSession, rows: Sequence[Row]) -> Any:
    found = table(rows)
    known = {"card": pa.string(), "remark": pa.string(), "n": pa.int64()}
    nulls = {n: known[n] for n in found.column_names if pa.types.is_null(found[n].type)}
    for name, type in nulls.items():
        place = found.column_names.index(name)
        found = found.set_column(place, name, found[name].cast(type))
    return spark.createDataFrame(found)


def outcome(case: Case, events: object) -> object:
    """Times and values of rows and the codes of warnings; or the code of the error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", cep.CepheidWarning)
        try:
            rows = cep.spark.detect(program_of(case), events, **case.options).collect()  # type: ignore[arg-type]
        except (cep.CepheidError, PySparkException) as refused:
            problem = failure_of(refused).diagnostics[0]
            is_told = case.said in str(problem) or case.name in UNSAID
            return problem.code, is_told
    codes = [re.findall(r"\[([\w-]+)\]", str(w.message))[0] for w in caught]
    shown = [
        (round(row["@time"].timestamp()), *row[row["@type"]])
        for row in rows
        if row["@type"] not in ("All", "Owner")
    ]
    return sorted(shown, key=repr), [code for code in codes if code != "ties"]


def expected_on_spark(case: Case) -> object:
    if isinstance(case.expected, str):
        return expectation(case, frames)[0], True  # type: ignore[index]
    warned = [n for n in case.notes or () if n == "unfed-type"]  # notes go to the log
    warned += ["unknown-attribute"] * case.said.count("no source has")
    return sorted(case.expected, key=repr), warned


def test_every_rule_gives_on_spark_what_it_gives_on_every_door(spark: SparkSession) -> None:
    wrong = []
    for case in CASES:
        if case.name in LEFT_OUT:
            continue
        events = {type: spark_frame(spark, rows) for type, rows in case.rows.items()}
        found, expected = outcome(case, events), expected_on_spark(case)
        if found != expected:
            wrong.append(f"{case.name}:\n  found    {found}\n  expected {expected}")
    assert not wrong, "\n".join(wrong)


def test_the_first_line_of_a_failure_says_what_is_wrong_with_which_row(
    spark: SparkSession,
) -> None:
    frame = spark_frame(spark, [payment(), payment(None)])
    with pytest.raises(PySparkException) as failure:
        cep.spark.detect(cep.parse(TWO), {"Payment": frame}, output="Large").collect()
    first = str(failure.value).splitlines()[0]
    assert "error[missing-time]: an event of type Payment without a time" in first
    assert '{"card":"c","amount":20}' in first


def test_what_is_no_frame_is_refused_in_our_words(spark: SparkSession) -> None:
    program = cep.parse(TWO)
    twice = spark.sql("select 1 as `@time`, 'c' as card, 2 as amount, 3 as amount")
    at = spark.sql("select 1 as at, 'c' as card, 2 as amount")
    for events, said in (
        (frames({"A": [payment()]}, Path())["A"], "this is a table of pandas"),  # type: ignore[index]
        (table([payment()]), "this is a table of pyarrow"),
        ("rides.csv", "not 'rides.csv'"),
        ({"Payment": twice}, "two columns are named 'amount'"),
        ({"Payment": cep.source(at, time="att")}, "no column 'att' for the time"),
        ({"Payment": at}, "no column that holds the time"),
    ):
        with pytest.raises(cep.CepheidError) as refused:
            cep.spark.detect(program, events, optional=["card"])  # type: ignore[arg-type]
        assert said in str(refused.value)


def test_columns_that_are_to_be_attributes_are_looked_for_in_all_frames(
    spark: SparkSession,
) -> None:
    program = cep.parse(TWO)
    renamed, plain = payment(card=..., card_no="c"), {"@time": 2, "card": "d"}
    events = {"Payment": spark_frame(spark, [renamed]), "Refund": spark_frame(spark, [plain])}
    with warnings.catch_warnings():
        warnings.simplefilter("error", cep.CepheidWarning)
        cep.spark.detect(program, events, output="Large", columns={"card_no": "card"})
    stream = spark.readStream.format("rate").load().selectExpr("timestamp as `@time`", "value")
    with pytest.warns(cep.CepheidWarning, match="no source has the column 'number'") as caught:
        cep.spark.detect(
            cep.parse("create schema Tick (value long); select value from Tick;"),
            {"Tick": stream},
            columns={"number": "value"},
            watermark="1s",
        )
    assert len([w for w in caught if "no source has" in str(w.message)]) == 1


def test_rejects_stand_beside_the_rows_of_a_batch(spark: SparkSession) -> None:
    rows: Mapping[str, Sequence[Row]] = {"Payment": [payment(), payment(2, card=None)]}
    case = next(case for case in CASES if case.name == "a key is null in one")
    frame = spark_frame(spark, rows["Payment"])
    found = cep.spark.detect(
        program_of(case), {"Payment": frame}, output="Large", rejects=True
    ).collect()
    by_kind = {row["@kind"]: row for row in found}
    assert by_kind["match"]["card"] == "c"
    assert by_kind["reject"]["@problem"].startswith("error[null-key]: an event of Payment")
    assert json.loads(by_kind["reject"]["@row"])["amount"] == 20

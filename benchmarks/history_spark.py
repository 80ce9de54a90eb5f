"""A year of bitemporal history at once on Spark, minute by minute: ten million versions.

Seven statements over one class stand beside what Spark needs before anything can be said about an
event: read all versions, send them to the task of their key, sort them there. The program of business
travel stands beside plain SQL: the same two queries over the last version of each event, which knows
nothing of what was known when. One week of both is run by the local engine, too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cepheid as cep
from benchmarks.floor import write
from benchmarks.histories import DELIVERIES, TRAVEL, WEEK, History
from benchmarks.measure import Sizes, timed
from benchmarks.pairs import paired
from benchmarks.report import Figure, Goal
from cepheid.core.time import format_instant, to_instant

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

VERSIONS = 10_000_000
CHRONON = "1m"
KEYS = {
    "FlightArrival": "flightDay, flightNo",
    "FlightDeparture": "flightDay, flightNo",
    "BusinessMeeting": "meetingId",
    "Flight": "flightDay, flightNo, bookingId",
    "FlightBooking": "bookingId",
}
# Flights come first: from the order of the program Spark would make a nested loop of all arrivals and
# all departures, since a comparison of their times ties them.
MISSED = """
SELECT fd.flightDay, fd.flightNo, fd.fromLoc, fd.toLoc, fb.bookingId, bm.meetingId, fd.occ
FROM Flight f, FlightArrival fa, FlightDeparture fd, FlightBooking fb, BusinessMeeting bm
WHERE fa.flightDay = f.flightDay AND fa.flightNo = f.flightNo
  AND fd.flightDay = f.connFlgtDay AND fd.flightNo = f.connFlgtNo
  AND f.bookingId = fb.bookingId AND bm.meetingId = fb.meetingId
  AND fa.occ + INTERVAL 30 MINUTES > fd.occ
"""
ARRIVED = """
SELECT fa.flightDay, fa.flightNo, fa.fromLoc, fa.toLoc, fb.bookingId, bm.meetingId, fa.occ
FROM FlightArrival fa, BusinessMeeting bm, Flight f, FlightBooking fb
WHERE f.connFlgtNo IS NULL
  AND fa.flightDay = f.flightDay AND fa.flightNo = f.flightNo
  AND f.bookingId = fb.bookingId AND bm.meetingId = fb.meetingId
  AND NOT EXISTS (SELECT * FROM missed mcf WHERE mcf.bookingId = f.bookingId)
"""


def run(sizes: Sizes) -> Iterator[Figure]:
    spark = cep.spark.session()
    versions = sizes.events(VERSIONS)
    year, week = History(versions), History(versions, until=WEEK)
    deliveries, travel = cep.parse(DELIVERIES, language="bicepl"), cep.load(TRAVEL)
    histories = read(spark, year.deliveries())
    name = f"seven statements over {versions:,} versions, beside read, exchange and sort"
    yield beside(name, told(deliveries, histories), floor(histories["Delivery"]))
    histories = read(spark, year.travel())
    name = f"travel over {versions:,} versions, beside plain SQL over the latest ones"
    yield beside(name, told(travel, histories), latest_only(spark, histories))
    yield beside_local(
        "seven statements", deliveries, read(spark, week.deliveries()), week.deliveries()
    )
    yield beside_local("travel", travel, read(spark, week.travel()), week.travel())


def beside(name: str, ours: DataFrame, theirs: DataFrame) -> Figure:
    sides = [timed(partial(write, frame)) for frame in (ours, theirs)]
    for side in sides:  # warm
        side()
    goal = Goal("at most", 5)
    figure = Figure.of_pairs(name, paired(*sides), goal, names=("seconds", "beside"))
    return replace(figure, note=f"{ours.count():,} actions")


def beside_local(
    name: str, program: cep.Program, histories: Mapping[str, DataFrame], files: Mapping[str, Path]
) -> Figure:
    """A week, whose actions have to be the same."""
    ours = told(program, histories)
    local = partial(cep.run, program, *files.values(), chronon=CHRONON, engine="local")
    found = paired(timed(partial(write, ours)), timed(local))
    is_equal = sorted(map(_said, ours.toArrow().to_pylist())) == sorted(
        _said({"@type": e.type, "@time": e.time, e.type: dict(e)}) for e in local()
    )
    figure = Figure.of_pairs(f"{name}, a week, beside the local engine", found, None)
    return replace(figure, note=f"{ours.count():,} actions", is_wrong=not is_equal)


def _said(row: Mapping[str, Any]) -> str:
    """An action as a text: what only other actions have is left out, and times are as files have them."""

    def plain(value: object) -> object:
        if isinstance(value, datetime):
            return format_instant(to_instant(value))
        if isinstance(value, dict):
            return {name: plain(part) for name, part in value.items() if part is not None}
        return value

    return json.dumps(plain(dict(row)), sort_keys=True)


def told(program: cep.Program, histories: Mapping[str, DataFrame]) -> DataFrame:
    """The actions of a program over whole histories."""
    return cep.spark.detect(program, histories, chronon=CHRONON)


def read(spark: SparkSession, files: Mapping[str, Path]) -> dict[str, DataFrame]:
    return {name: spark.read.parquet(str(path)) for name, path in files.items()}


def floor(versions: DataFrame) -> DataFrame:
    return versions.repartition("id").sortWithinPartitions("id", "`@detected`")


def latest_only(spark: SparkSession, histories: Mapping[str, DataFrame]) -> DataFrame:
    """Both queries over the last version of each event, unless that is a retraction."""
    for name, versions in histories.items():
        versions.createOrReplaceTempView("versions")
        latest = f"row_number() OVER (PARTITION BY {KEYS[name]} ORDER BY `@detected` DESC) AS place"
        ranked = f"SELECT *, `@time` AS occ, {latest} FROM versions"
        found = spark.sql(f"SELECT * FROM ({ranked}) WHERE place = 1 AND NOT `@retracted`")
        found.createOrReplaceTempView(name)
    missed = spark.sql(MISSED)
    missed.createOrReplaceTempView("missed")
    return missed.unionAll(spark.sql(ARRIVED))

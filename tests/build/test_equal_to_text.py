"""What is built in Python is what the parser makes of the text, and prints as it."""

from __future__ import annotations

from datetime import timedelta

import pytest

import cepheid as cep
from cepheid.build.declarations import Declaration
from cepheid.expr.tree import Expr
from cepheid.lang.epl.parser import parse
from cepheid.pattern.tree import Pattern
from cepheid.program.tree import PatternSource, SelectExpr

x, y, z = cep.col("x"), cep.col("y"), cep.col("z")
a, b, c = cep.event("a", "A"), cep.event("b", "B"), cep.event(None, "C")


def parsed_expression(text: str) -> Expr:
    (item,) = parse(f"select {text} as it from A").tree.statements[0].select
    assert isinstance(item, SelectExpr)
    return item.expr


def parsed_pattern(text: str) -> Pattern:
    source = parse(f"select * from pattern [{text}]").tree.statements[0].source
    assert isinstance(source, PatternSource)
    return source.pattern


EXPRESSIONS: list[tuple[cep.Expression, str]] = [
    (cep.col("speed"), "speed"),
    (cep.col("a1.speed"), "a1.speed"),
    (cep.col("a[0].position.x"), "a[0].position.x"),
    (cep.col("select"), "`select`"),
    (cep.col("a.`x.y`[2]"), "a.`x.y`[2]"),
    (cep.lit(5), "5"),
    (cep.lit(-5), "-5"),
    (-cep.lit(5), "-5"),
    (-cep.lit(-5), "5"),
    (cep.lit(2**31 - 1), "2147483647"),
    (cep.lit(2**31), "2147483648L"),
    (cep.lit(-(2**31)), "-2147483648"),
    (cep.lit(2**40), "1099511627776L"),
    (cep.lit(5, "long"), "5L"),
    (cep.lit(1.5), "1.5"),
    (cep.lit(0.1, "float"), "0.1f"),
    (cep.lit(1, "double"), "1.0"),
    (cep.lit(True), "true"),
    (cep.lit(None), "null"),
    (cep.lit("it's"), "'it\\'s'"),
    (x + 1 - y, "x + 1 - y"),
    (x - (y - 1), "x - (y - 1)"),
    (2 * x / 3 % y, "2 * x / 3 % y"),
    ((x + 1) * 2, "(x + 1) * 2"),
    (1 - x, "1 - x"),
    (1 + x, "1 + x"),
    (1 / x, "1 / x"),
    (7 % x, "7 % x"),
    (-x, "-x"),
    (-(x + 1), "-(x + 1)"),
    (x == 1, "x = 1"),
    (x != "a", "x != 'a'"),
    (x < 1.5, "x < 1.5"),
    (x <= y, "x <= y"),
    (x > -1, "x > -1"),
    (x >= 50, "x >= 50"),
    ((x > 1) == y, "(x > 1) = y"),
    (x.is_(None), "x is null"),
    (x.is_not(None), "x is not null"),
    (x.isin(1, 2), "x in (1, 2)"),
    (x.isin(["a", "b"]), "x in ('a', 'b')"),
    (x.isin(y, 2), "x in (y, 2)"),
    (x.not_in(1), "x not in (1)"),
    (x.between(1, 5), "x between 1 and 5"),
    (x.not_between(1, 5), "x not between 1 and 5"),
    (x.between(1, 5, "left"), "x in [1:5)"),
    (x.between(1, 5, "right"), "x in (1:5]"),
    (x.not_between(1, 5, "neither"), "x not in (1:5)"),
    (x.like("a%"), "x like 'a%'"),
    (x.not_like("a!%", "!"), "x not like 'a!%' escape '!'"),
    (x.regexp("[a-z]+"), "x regexp '[a-z]+'"),
    (x.not_regexp(y), "x not regexp y"),
    (x.cast("int"), "cast(x, int)"),
    (x.cast("string[]"), "cast(x, string[])"),
    (x.concat("-", y), "x || '-' || y"),
    (x & y & z, "x and y and z"),
    (x & (y & z), "x and (y and z)"),
    (cep.all_of(x & y, z), "(x and y) and z"),
    (x & y | z, "x and y or z"),
    (x & (y | z), "x and (y or z)"),
    ((x | y) | z, "x or y or z"),
    (cep.any_of(x, y, z), "x or y or z"),
    (cep.all_of(x), "x"),
    (cep.any_of(x), "x"),
    (~x, "not x"),
    (~(x > 1) & y, "not x > 1 and y"),
    (True & x, "true and x"),
    (False | x, "false or x"),
    (cep.fn.abs(x), "abs(x)"),
    (cep.fn.substring("abc", 2), "substring('abc', 2)"),
    (cep.fn.min(x, y), "min(x, y)"),
    (cep.fn.current_timestamp(), "current_timestamp()"),
    (cep.call("COALESCE", x, 0), "coalesce(x, 0)"),
    (cep.case().when(x > 1, "a").otherwise(None), "case when x > 1 then 'a' else null end"),
    (cep.case().when(x, 1).when(y, 2), "case when x then 1 when y then 2 end"),
    (cep.case(x).when(1, y).otherwise(0), "case x when 1 then y else 0 end"),
    (cep.case(None).when(x, 1), "case null when x then 1 end"),
    (cep.agg.count(), "count(*)"),
    (cep.agg.count("x"), "count(x)"),
    (cep.agg.count("x", distinct=True), "count(distinct x)"),
    (cep.agg.sum(x * 2) + 1, "sum(x * 2) + 1"),
    (cep.agg.max("a.x"), "max(a.x)"),
]


@pytest.mark.parametrize(("built", "text"), EXPRESSIONS, ids=[text for _, text in EXPRESSIONS])
def test_an_expression_is_that_of_its_text(built: cep.Expression, text: str) -> None:
    assert built.tree == parsed_expression(text)
    assert str(built) == text


PATTERNS: list[tuple[cep.Pattern, str]] = [
    (a, "a=A"),
    (c, "C"),
    (cep.event("a", "A", x > 1), "a=A(x > 1)"),
    (cep.event("a", "A", (x > 1) & y, z), "a=A(x > 1 and y and z)"),
    (cep.event("some tag", "Some type"), "`some tag`=`Some type`"),
    (a.then(b), "a=A -> b=B"),
    (a.then(b).then(c), "a=A -> b=B -> C"),
    (a.then(b.then(c)), "a=A -> (b=B -> C)"),
    (cep.sequence(a.then(b), c), "(a=A -> b=B) -> C"),
    (cep.sequence(a, b, c), "a=A -> b=B -> C"),
    (a.and_(b).and_(c), "a=A and b=B and C"),
    (a.or_(b).or_(c), "a=A or b=B or C"),
    (cep.all_of(a, b.or_(c)), "a=A and (b=B or C)"),
    (cep.any_of(a, b.and_(c)), "a=A or b=B and C"),
    (a.and_(cep.not_(b)), "a=A and not b=B"),
    (cep.every(a).then(b), "every a=A -> b=B"),
    (cep.every(a.then(b)), "every (a=A -> b=B)"),
    (cep.every_distinct("a.x", a), "every-distinct(a.x) a=A"),
    (
        cep.every_distinct(["a.x", cep.col("a.y") + 1], a, expiry="1 hour"),
        "every-distinct(a.x, a.y + 1, 1 hour) a=A",
    ),
    (a.times(3), "[3] a=A"),
    (a.times(3, until=c), "[3] a=A until C"),
    (a.times(2, 4, until=c), "[2:4] a=A until C"),
    (a.times(2, None, until=c), "[2:] a=A until C"),
    (a.times(None, 4, until=c), "[:4] a=A until C"),
    (a.until(c), "a=A until C"),
    (cep.every(a.times(2)), "every [2] a=A"),
    (a.within("3 seconds"), "a=A where timer:within(3 seconds)"),
    (a.within(timedelta(minutes=1, seconds=30)), "a=A where timer:within(1 minute 30 seconds)"),
    (a.within(2.5), "a=A where timer:within(2 seconds 500 milliseconds)"),
    (a.within("1 month"), "a=A where timer:within(1 month)"),
    (a.within("3 sec", most=2), "a=A where timer:withinmax(3 seconds, 2)"),
    (cep.every(a).then(b.within(3)), "every a=A -> b=B where timer:within(3 seconds)"),
    (cep.every(a).then(b).within(3), "(every a=A -> b=B) where timer:within(3 seconds)"),
    (a.while_(cep.col("a.x") > 1), "a=A while (a.x > 1)"),
    (cep.interval("3 seconds"), "timer:interval(3 seconds)"),
    (a.then(cep.interval(3).and_(cep.not_(b))), "a=A -> timer:interval(3 seconds) and not b=B"),
    (cep.at(), "timer:at(*, *, *, *, *)"),
    (cep.at(hours=8, minutes=0), "timer:at(0, 8, *, *, *)"),
    (
        cep.at(minutes=range(0, 60, 20), days=[1, 2, 3], months=1, weekdays=0, seconds=None),
        "timer:at([0, 20, 40], *, 1:3, 1, 0, *)",
    ),
]


@pytest.mark.parametrize(("built", "text"), PATTERNS, ids=[text for _, text in PATTERNS])
def test_a_pattern_is_that_of_its_text(built: cep.Pattern, text: str) -> None:
    assert built.tree == parsed_pattern(text)
    assert str(built) == text


STREAM = cep.stream("A")
WINDOW = cep.window
DECLARATIONS: list[tuple[Declaration, str]] = [
    (STREAM, "select * from A"),
    (cep.stream("A", x > 1, y), "select * from A(x > 1 and y)"),
    (cep.stream("A", alias="a").select("a.x"), "select a.x from A as a"),
    (cep.match(cep.every(a)), "select * from pattern [every a=A]"),
    (STREAM.select("*", "a.*", "`b c`.*"), "select *, a.*, `b c`.* from A"),
    (STREAM.select("x", x + 1, 5, n=y, m="a.z"), "select x, x + 1, 5, y as n, a.z as m from A"),
    (STREAM.select(x.alias("b"), "y"), "select x as b, y from A"),
    (STREAM.select("x").distinct(), "select distinct x from A"),
    (STREAM.irstream(), "select irstream * from A"),
    (STREAM.rstream().distinct(), "select rstream distinct * from A"),
    (STREAM.insert_into("B"), "insert into B select * from A"),
    (STREAM.insert_into("B", "rstream"), "insert rstream into B select * from A"),
    (STREAM.window(WINDOW.time("10 min")), "select * from A.win:time(10 min)"),
    (STREAM.window(WINDOW.time_batch(5)), "select * from A#time_batch(5 seconds)"),
    (
        STREAM.window(WINDOW.time_batch("5 sec", reference=7, force_update=True)),
        "select * from A#time_batch(5 seconds, 7L, 'FORCE_UPDATE')",
    ),
    (
        STREAM.window(WINDOW.time_batch("5 sec", force_update=True, start_eager=True)),
        "select * from A#time_batch(5 seconds, 'FORCE_UPDATE, START_EAGER')",
    ),
    (STREAM.window(WINDOW.length(3)), "select * from A#length(3)"),
    (STREAM.window(WINDOW.length_batch(3)), "select * from A#length_batch(3)"),
    (STREAM.window(WINDOW.keepall()), "select * from A#keepall"),
    (STREAM.where(x > 1), "select * from A where x > 1"),
    (STREAM.where(x > 1, y), "select * from A where x > 1 and y"),
    (STREAM.where(x > 1).where(y).where(z), "select * from A where x > 1 and y and z"),
    (STREAM.where(x | y, z), "select * from A where (x or y) and z"),
    (
        STREAM.select("x", n=cep.agg.count()).group_by("x", y).having(cep.agg.count() > 2),
        "select x, count(*) as n from A group by x, y having count(*) > 2",
    ),
    (STREAM.output(every=5), "select * from A output every 5 events"),
    (STREAM.output(every="5 seconds"), "select * from A output every 5 seconds"),
    (STREAM.output("last", every=timedelta(seconds=5)), "select * from A output last every 5 sec"),
    (STREAM.output(after=3), "select * from A output after 3 events"),
    (
        STREAM.output("snapshot", every="1 min", after="2 min"),
        "select * from A output after 2 min snapshot every 1 min",
    ),
    (STREAM.output(when=x > 1), "select * from A output when x > 1"),
    (STREAM.order_by("x", y.desc()), "select * from A order by x, y desc"),
    (STREAM.limit(10), "select * from A limit 10"),
    (STREAM.limit(10, offset=5), "select * from A limit 10 offset 5"),
    (STREAM.in_context("PerBike"), "context PerBike select * from A"),
    (
        STREAM.named("S").priority(5).described("what it does").annotated("Audit"),
        "@Name('S') @Priority(5) @Description('what it does') @Audit select * from A",
    ),
    (
        STREAM.annotated("org.acme.Action", "mail", to=["me", "you"], retries=3, urgent=True),
        "@org.acme.Action('mail', to={'me', 'you'}, retries=3, urgent=true) select * from A",
    ),
    (STREAM.named("S").priority(5).named("T"), "@Name('T') @Priority(5) select * from A"),
    (cep.schema("A", x="int", y="string[]", z="B"), "create schema A (x int, y string[], z B)"),
    (cep.schema("A", {"two words": "double"}), "create schema A (`two words` double)"),
    (cep.schema("A", inherits=["B", "C"]), "create schema A () inherits B, C"),
    (
        cep.schema("A", ts="long", event_time=("ts", "minutes")).described("in minutes"),
        "@EventTime(attribute='ts', unit='minutes') @Description('in minutes')"
        " create schema A (ts long)",
    ),
    (
        cep.context("PerKey", {"Some type": ("x", "y")}, B="x"),
        "create context PerKey partition by x and y from `Some type`, x from B",
    ),
]


@pytest.mark.parametrize(("built", "text"), DECLARATIONS, ids=[text for _, text in DECLARATIONS])
def test_a_declaration_is_that_of_its_text(built: Declaration, text: str) -> None:
    assert cep.compose(built) == cep.parse(text)
    assert str(cep.compose(built)) == str(cep.parse(text))
    assert str(built) == str(cep.parse(text)).strip()


MOTORBIKE = """
@EventTime(attribute='ts', unit='seconds')
create schema Motorbike (ts long, motorbikeId int, speed int);

create context PerBike partition by motorbikeId from Motorbike;

@Name('Crash')
context PerBike
insert into Crash
select a2.motorbikeId as motorbikeId, a1.speed as initialSpeed
from pattern [every a1=Motorbike(speed >= 50) -> a2=Motorbike(speed = 0)
              where timer:within(3 seconds)];

insert into Busy
select motorbikeId, count(*) as crashes
from Crash#time(1 day) as c
where c.initialSpeed > 60
group by motorbikeId
having count(*) >= 2
output last every 1 hour
order by count(*) desc, motorbikeId
limit 10;
"""


def motorbike() -> cep.Program:
    moving = cep.event("a1", "Motorbike", cep.col("speed") >= 50)
    standing = cep.event("a2", "Motorbike", cep.col("speed") == 0)
    crash = (
        cep.match(cep.every(moving).then(standing.within("3 seconds")))
        .select(motorbikeId="a2.motorbikeId", initialSpeed=cep.col("a1.speed"))
        .named("Crash")
        .insert_into("Crash")
        .in_context("PerBike")
    )
    busy = (
        cep.stream("Crash", alias="c")
        .window(cep.window.time("1 day"))
        .where(cep.col("c.initialSpeed") > 60)
        .group_by("motorbikeId")
        .having(cep.agg.count() >= 2)
        .select("motorbikeId", crashes=cep.agg.count())
        .output("last", every="1 hour")
        .order_by(cep.agg.count().desc(), "motorbikeId")
        .limit(10)
        .insert_into("Busy")
    )
    return cep.compose(
        cep.schema(
            "Motorbike", ts="long", motorbikeId="int", speed="int", event_time=("ts", "seconds")
        ),
        cep.context("PerBike", Motorbike="motorbikeId"),
        crash,
        busy,
    )


def test_a_whole_program_is_that_of_its_text() -> None:
    assert motorbike() == cep.parse(MOTORBIKE)
    assert str(motorbike()) == str(cep.parse(MOTORBIKE))
    assert hash(motorbike()) == hash(cep.parse(MOTORBIKE))


def test_a_built_program_runs() -> None:
    events = [
        {"@type": "Motorbike", "ts": ts, "motorbikeId": 1, "speed": speed}
        for ts, speed in ((400, 100), (401, 90), (402, 0))
    ]
    crashes = [event for event in cep.run(motorbike(), events) if event.type == "Crash"]
    assert [crash["initialSpeed"] for crash in crashes] == [100, 90]
    assert [crash.instant // 1_000_000 for crash in crashes] == [402, 402]


def test_programs_compose() -> None:
    schema = cep.parse("create schema A (x int);", types={"B": {"y": "int"}})
    both = cep.compose(schema, cep.stream("A"), types={"C": {"z": "int"}})
    assert both == cep.parse("create schema A (x int); select * from A;")
    assert set(both.types) == {"B", "C"}
    assert cep.compose() == cep.parse("")

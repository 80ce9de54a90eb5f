"""The plan of a request: decided once, before Spark does anything, and printable.

Batches, streams, warnings and `explain` are functions of it. It says which statements run together,
by which key their events are split, in which columns and in which order these travel, what a pass takes
of what others derive, whether rows depend on the clock, and what could not be split and why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from cepheid.analysis.retention import needs_start, speaks_with_time
from cepheid.engines.spark.codec.event_encoder import EventEncoder
from cepheid.engines.spark.codec.event_frames import EventFrame
from cepheid.engines.spark.codec.event_layout import EventLayout
from cepheid.engines.spark.plan.passes import Pass, Pipeline, pipelines_of
from cepheid.engines.spark.plan.request import SparkRequest
from cepheid.engines.spark.session.spark_session import ROCKSDB
from cepheid.matcher.operator import takes_own_rows
from cepheid.pattern.tree import Within, walk
from cepheid.program.resolved import ResolvedProgram, ResolvedStatement

UNORDERED = "events of one time have no order for all of them: sequence= gives one"
OWN_ROWS = "they take what they derive between what other keys do"


@dataclass(frozen=True, slots=True)
class Upstream:
    """What a pass takes of what others derive."""

    producers: tuple[int, ...]  # their numbers among all passes
    taken: tuple[tuple[str, tuple[str, ...]], ...]  # types, and the kinds of the rows that count


@dataclass(frozen=True, slots=True)
class PlannedPass:
    """A pass with its codec, what it takes of others, and which operator in a row runs it."""

    logical: Pass
    layout: EventLayout
    upstream: Upstream | None
    operator: int
    encoder: EventEncoder = field(repr=False, compare=False)

    @property
    def names(self) -> tuple[str, ...]:
        return self.logical.names

    @property
    def program(self) -> ResolvedProgram:
        return self.logical.program

    @property
    def runs_on_reference(self) -> bool:
        """Whether the matcher cannot tell the place of its rows among those of other passes."""
        return self.upstream is not None and takes_own_rows(self.program)

    def over(self, request: SparkRequest) -> PlannedPass:
        """The same over other frames."""
        encoder = EventEncoder(self.logical, request.sources, request.options, request.program)
        return replace(self, encoder=encoder, layout=encoder.layout)


@dataclass(frozen=True, slots=True)
class Plan:
    """How Spark runs a request."""

    request: SparkRequest = field(repr=False)
    pipelines: tuple[tuple[PlannedPass, ...], ...]  # which know nothing of each other
    depends_on_time: bool  # whether rows need the first and the last instant of the input
    needs_start: tuple[ResolvedStatement, ...]  # whose rows depend on when the program starts

    @property
    def passes(self) -> tuple[PlannedPass, ...]:
        return tuple(one for pipeline in self.pipelines for one in pipeline)

    @property
    def operators(self) -> int:
        """How many stateful operators of a stream follow each other."""
        return 1 + max(one.operator for one in self.passes)

    def __str__(self) -> str:
        return "\n".join(_described(self))


def plan_of(request: SparkRequest) -> Plan:
    pipelines = pipelines_of(request.program, obstacle=_obstacle(request))
    statements = request.program.statements
    return Plan(
        request,
        tuple(_planned(request, pipelines)),
        any(_depends_on_time(s, timed_out=request.timed_out) for s in statements),
        tuple(s for s in statements if s.context is None and needs_start(s)),
    )


def _obstacle(request: SparkRequest) -> str | None:
    """Why passes must not follow each other."""
    if request.watermark is None:
        # A batch can number the events of a frame, or of frames that have one type each.
        can_be_numbered = len(request.sources) == 1 or all(s.event_type for s in request.sources)
        is_ordered = request.options.sequence is not None or can_be_numbered
        return None if is_ordered else UNORDERED
    if request.options.sequence is None:
        return UNORDERED
    if request.watermark.idle is not None:
        return "with idle= a bucket that hears nothing goes on alone"
    stores = (_state_store(source) for source in request.sources[:1])
    if any(store != ROCKSDB for store in stores):
        return "Spark keeps the state of several operators in RocksDB only"
    return None


def _state_store(source: EventFrame) -> str | None:
    settings = source.frame.sparkSession.conf
    return settings.get("spark.sql.streaming.stateStore.providerClass", None)


def are_ordered_by_values(request: SparkRequest, pipeline: Sequence[PlannedPass]) -> bool:
    """Whether the values of events can order what they lead to: then nobody has to number them first."""
    first, second, *more = pipeline
    is_asked_more = request.is_ordered or request.why or request.timed_out
    if is_asked_more or more or second.encoder.readings:
        return False
    by_events = not any(speaks_with_time(statement) for statement in first.program.statements)
    return by_events and first.encoder.has_plain_order


def _depends_on_time(statement: ResolvedStatement, *, timed_out: bool) -> bool:
    """Whether rows can come by time alone, or depend on when the program starts."""
    nodes = walk(statement.pattern) if timed_out and statement.pattern else ()
    times_out = any(isinstance(node, Within) for node in nodes)
    return times_out or needs_start(statement) or speaks_with_time(statement)


def _planned(
    request: SparkRequest, pipelines: Sequence[Pipeline]
) -> Iterator[tuple[PlannedPass, ...]]:
    """The passes of all pipelines, each in an operator as early as what it takes allows."""
    first = 0
    for pipeline in pipelines:
        found: list[PlannedPass] = []
        for one in pipeline:
            encoder = EventEncoder(one, request.sources, request.options, request.program)
            upstream = _upstream(request.program, dict(enumerate(found, first)), encoder)
            producers = upstream.producers if upstream else ()
            operator = max((1 + found[n - first].operator for n in producers), default=0)
            found.append(PlannedPass(one, encoder.layout, upstream, operator, encoder))
        yield tuple(found)
        first += len(found)


def _upstream(
    program: ResolvedProgram, earlier: Mapping[int, PlannedPass], encoder: EventEncoder
) -> Upstream | None:
    """What a pass takes of what earlier ones of its pipeline derive."""
    if not earlier:
        return None
    names = [name for one in earlier.values() for name in one.names]
    taken = encoder.taken_from(program.part(names))
    producers = (
        n for n, one in earlier.items() if any(s.target in taken for s in one.program.statements)
    )
    return Upstream(tuple(producers), tuple(taken.items())) if taken else None


# Words ----------------------------------------------------------------------------------------


def _described(plan: Plan) -> Iterator[str]:
    for number, one in enumerate(plan.passes, start=1):
        yield f"pass {number}: {', '.join(one.names)}"
        yield f"  split by {_key(one.logical)}"
        if one.upstream is not None:
            types = ", ".join(name for name, _ in one.upstream.taken)
            producers = ", ".join(str(n + 1) for n in one.upstream.producers)
            yield f"  takes {types} of pass {producers}, in operator {one.operator + 1}"
        yield f"  columns {', '.join(one.layout.names) or 'none'}"
        yield f"  order @time, {', '.join(map(one.layout.name_of, one.layout.sort_keys))}"
        if one.runs_on_reference:
            yield f"  on the reference: {OWN_ROWS}"
    yield f"clock: rows {'depend' if plan.depends_on_time else 'do not depend'} on time alone"


def _key(one: Pass) -> str:
    if one.key is None:
        return f"nothing: {one.reason}"
    paths = (f"{type}.{'.'.join(path)}" for type, paths in one.key.items() for path in paths)
    return ", ".join(paths) or "anything"

"""Classes that can lose events when others are learnt, or come to have them when others are forgotten.

Where a query only joins, more events give more rows, and a sliding window that forgets an event takes rows away. What
must be missing, what is counted, and what an outer join fills up does not go one way: a window that forgets may let
events appear, change or vanish, and act on that. `sliding-actions` leaves out what comes that late.

- Not monotone: NOT EXISTS and NOT IN, and any other way to ask whether a subquery has rows; aggregates; LEFT JOIN; a
  constituent that is not monotone; an attribute of an event whose key the class does not have, since another event may
  give it another value. DISTINCT and UNION are fine.
- Not told by its key: what an event is made of may change without a change of the event. When a window forgets what
  it was made of first, it is announced again.

What is not seen: that a condition keeps the rows the same, such as `count(*) > 1`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp

from cepheid.analysis.classes.keys import Determined
from cepheid.analysis.classes.written import listed, span_of, text_of
from cepheid.errors import Diagnostic, Span, note
from cepheid.program.classes import ComplexClass
from cepheid.program.graph import Graph
from cepheid.program.resolved import ResolvedClass
from cepheid.sql.dialect import parse_select, parse_time
from cepheid.sql.places import Places
from cepheid.sql.selects import branches, is_aggregate, is_grouped, sources, subqueries

_HINT = "buffering is not affected; with windows use sliding-actions, which leaves out what they make up"


def find(graph: Graph) -> Iterator[Diagnostic]:
    classes = {resolved.name: resolved for resolved in graph.program.classes}
    for name, reasons in reasons_of(graph.program.classes).items():
        for reason, span in reasons:
            yield note("not-monotone", f"'{name}' is not monotone: {reason}", span, _HINT)
        if not reasons:
            yield from _open_key(classes[name], classes)


def reasons_of(classes: Sequence[ResolvedClass]) -> dict[str, list[tuple[str, Span]]]:
    """What makes each class not monotone, and where; classes come after those that they read."""
    known = {resolved.name: resolved for resolved in classes}
    found: dict[str, list[tuple[str, Span]]] = {}
    for resolved in classes:
        open_ones = {name for name, reasons in found.items() if reasons}
        found[resolved.name] = list(_Reasons(resolved, known, open_ones).find())
    return found


class _Reasons:
    """What makes the query of a class not monotone, in the order of its text."""

    def __init__(
        self, resolved: ResolvedClass, classes: Mapping[str, ResolvedClass], open_ones: set[str]
    ) -> None:
        self._resolved = resolved
        self._classes = classes
        self._open = {name.lower() for name in open_ones}

    def find(self) -> Iterator[tuple[str, Span]]:
        declared = self._resolved.declared
        if not isinstance(declared, ComplexClass) or self._resolved.query is None:
            return
        self._places = Places(declared.select)
        written = parse_select(declared.select)
        said: dict[str, Span] = {}
        for reason, node in self._of_query(written):
            said.setdefault(reason, span_of(self._places, node))
        for reason, span in self._of_groups(written):
            said.setdefault(reason, span)
        for reason, span in self._of_attributes(written):
            said.setdefault(reason, span)
        yield from said.items()

    def _of_query(self, query: exp.Expr) -> Iterator[tuple[str, exp.Expr]]:
        if with_ := query.args.get("with_"):
            for part in with_.expressions:
                yield from self._of_query(part.this)
        for select in branches(query):
            yield from self._of_select(select)

    def _of_select(self, select: exp.Select) -> Iterator[tuple[str, exp.Expr]]:
        for source in sources(select):
            if isinstance(source.node, exp.Subquery):
                yield from self._of_query(source.node.this)
                yield from self._aggregates(source.node.this)
            if source.table is not None and source.table.lower() in self._open:
                yield f"'{source.table}' is not", source.node.this
            if source.is_outer:
                yield f"what LEFT JOIN fills up when '{source.alias}' is missing", source.node
        for asked in subqueries(select):
            if asked.is_negated:
                yield self._negation(asked.node), asked.node
            else:
                yield from self._of_query(asked.query)

    def _negation(self, node: exp.Expr) -> str:
        inner = node.this.unnest() if isinstance(node, exp.Not) else node
        if isinstance(inner, exp.Exists):
            return f"NOT EXISTS asks that {self._read(inner)} is missing"
        if isinstance(inner, exp.In):
            return f"NOT IN asks that {self._read(inner)} is missing"
        return f"its rows depend on what else is there of {self._read(node)}"

    def _read(self, node: exp.Expr) -> str:
        return listed(list(dict.fromkeys(table.name for table in node.find_all(exp.Table))))

    def _aggregates(self, query: exp.Expr) -> Iterator[tuple[str, exp.Expr]]:
        for select in branches(query):
            for part in (*select.expressions, select.args.get("having")):
                for node in part.walk(prune=_is_query) if part is not None else ():
                    if is_aggregate(node):
                        yield _of_all_rows(text_of(self._places, node)), node

    def _of_groups(self, written: exp.Query) -> Iterator[tuple[str, Span]]:
        """Aggregates, where a group may have several rows."""
        declared, query = self._resolved.declared, self._resolved.query
        assert isinstance(declared, ComplexClass)
        assert query is not None
        for tree, text in zip(branches(query.tree), branches(written), strict=True):
            group = tree.args.get("group")
            told = Determined(tree, self._classes, group.expressions if group else ())
            if not is_grouped(tree) or not told.open_sources:
                continue
            for reason, node in self._aggregates(text):
                yield reason, span_of(self._places, node)
            places = Places(declared.occurring)
            for node in filter(is_aggregate, parse_time(declared.occurring).walk()):
                yield _of_all_rows(text_of(places, node)), span_of(places, node)

    def _of_attributes(self, written: exp.Query) -> Iterator[tuple[str, Span]]:
        assert self._resolved.query is not None
        declared = self._resolved.declared
        assert isinstance(declared, ComplexClass)
        for tree, text in zip(branches(self._resolved.query.tree), branches(written), strict=True):
            if is_grouped(tree):
                continue
            told = Determined(tree, self._classes, tree.selects)
            for place, projection in enumerate(tree.selects):
                if (alias := told.open_source(projection)) is not None:
                    reason = f"it has attributes of '{alias}', but not its key"
                    yield reason, self._span(place, text, projection.alias)

    def _span(self, place: int, select: exp.Select, name: str) -> Span:
        declared = self._resolved.declared
        assert isinstance(declared, ComplexClass)
        if name == "occ":
            return Places(declared.occurring).whole
        for node in select.expressions:
            if node.alias_or_name.lower() == name.lower():
                return self._places.of(node)
        return self._places.of(select.expressions[min(place, len(select.expressions) - 1)])


def _is_query(node: exp.Expr) -> bool:
    return isinstance(node, exp.Query)


def _of_all_rows(text: str) -> str:
    return f"'{text}' depends on all rows of a group"


def _open_key(
    resolved: ResolvedClass, classes: Mapping[str, ResolvedClass]
) -> Iterator[Diagnostic]:
    declared = resolved.declared
    if not isinstance(declared, ComplexClass) or resolved.query is None:
        return
    for tree in branches(resolved.query.tree):
        if is_grouped(tree):
            continue
        projections = {projection.alias: projection for projection in tree.selects}
        told = Determined(tree, classes, [projections[name] for name in declared.key])
        if missing := told.open_sources:
            fact = (
                f"the ID of '{resolved.name}' does not tell which {listed(missing)} its events are made"
                " of: different rows of one ID end a run, and windows may announce equal ones again"
            )
            hint = f"add the key of {listed(missing)} to the ID"
            yield note("open-key", fact, _key_place(declared), hint)
            return


def _key_place(declared: ComplexClass) -> Span | None:
    places = declared.places[len(declared.attributes) :]
    return places[0].to(places[-1]) if places else declared.span

"""What an expression gives at a node; XPath 1.0 with markers, fields and styles.

Markers are evaluated where they stand. What they find goes into the `found` of the scope, and only counts
if the predicate that it stands in holds: a row that is left out leaves nothing behind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from cepheid.errors import RunError, error
from cepheid.web.functions import Asked, call
from cepheid.web.nodes import Node, NodeKind, StylesUnknown
from cepheid.web.records import Emission, Record
from cepheid.web.tree import (
    UNION,
    AttributeMarker,
    Binary,
    Call,
    Expr,
    Filtered,
    Literal,
    Negate,
    Number,
    Path,
    Predicate,
    RecordMarker,
    Step,
    Test,
    TestKind,
    Variable,
    all_parts,
)
from cepheid.web.values import (
    Nodes,
    Value,
    arithmetic,
    compare,
    in_order,
    to_number,
    to_truth,
)

_KINDS = {
    TestKind.TEXT: NodeKind.TEXT,
    TestKind.COMMENT: NodeKind.COMMENT,
    TestKind.INSTRUCTION: NodeKind.INSTRUCTION,
}
_FIELDS = {"button", "input", "select", "textarea"}
_BACKWARD = {"ancestor", "ancestor-or-self", "preceding", "preceding-sibling"}
_PRINCIPAL = {"attribute": NodeKind.ATTRIBUTE, "style": NodeKind.STYLE}
_ARITHMETIC = {"+", "-", "*", "div", "mod"}


@dataclass(frozen=True, slots=True)
class Given:
    """What holds for the whole of a run."""

    variables: Mapping[str, str | float]
    # How many nodes that would have been records each predicate with markers has left out.
    left_out: Counter[Predicate] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Scope:
    """Where an expression is evaluated."""

    node: Node
    given: Given
    position: int = 1
    size: int = 1
    record: Record | None = None
    found: list[Emission] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node that a step has found, the record it belongs to, and what markers have found at it."""

    node: Node
    record: Record | None
    found: list[Emission] = field(default_factory=list)


def evaluate(tree: Expr, scope: Scope) -> Value:
    match tree:
        case Literal(value=value):
            return value
        case Number(value=value):
            return value
        case Variable(name=name):
            return scope.given.variables[name]
        case Negate(operand=operand):
            return -to_number(evaluate(operand, scope))
        case Binary():
            return _binary(tree, scope)
        case Call(name=name, arguments=arguments):
            values = [evaluate(each, scope) for each in arguments]
            asked = Asked(scope.node, scope.position, scope.size, tree.span)
            return call(name, asked, values)
        case Filtered(subject=subject, predicates=predicates):
            nodes = _nodes(subject, scope)
            candidates = [Candidate(node, scope.record) for node in nodes]
            for predicate in predicates:
                candidates = _kept(candidates, predicate, scope)
            for candidate in candidates:
                scope.found.extend(candidate.found)
            return [candidate.node for candidate in candidates]
        case Path():
            return _path(tree, scope)
    raise TypeError(f"cannot evaluate {type(tree).__name__}")


def _binary(tree: Binary, scope: Scope) -> Value:
    operator = tree.operator
    if operator == UNION:
        return in_order([*_nodes(tree.left, scope), *_nodes(tree.right, scope)])
    left = evaluate(tree.left, scope)
    if operator in ("and", "or"):
        is_decided = to_truth(left) == (operator == "or")
        return to_truth(left) if is_decided else to_truth(evaluate(tree.right, scope))
    right = evaluate(tree.right, scope)
    if operator in _ARITHMETIC:
        return arithmetic(operator, to_number(left), to_number(right))
    return compare(operator, left, right)


def _nodes(tree: Expr, scope: Scope) -> Nodes:
    found = evaluate(tree, scope)
    if not isinstance(found, list):
        raise RunError(error("type-mismatch", "nodes are needed here", tree.span))
    return found


def _path(tree: Path, scope: Scope) -> Nodes:
    if tree.start is not None:
        nodes = _nodes(tree.start, scope)
    else:
        nodes = [scope.node.page.root] if tree.is_absolute else [scope.node]
    candidates = [Candidate(node, scope.record) for node in nodes]
    for step in tree.parts:
        assert isinstance(step, Step)  # actions and stars stand in the path of the wrapper only
        candidates = take_step(candidates, step, scope.given)
    for candidate in candidates:
        scope.found.extend(candidate.found)
    return in_order([candidate.node for candidate in candidates])


def take_step(candidates: list[Candidate], step: Step, given: Given) -> list[Candidate]:
    """One step from each of these nodes; a node that several of them reach counts once for a record.

    What the markers of earlier steps found goes along, and counts if any node is reached.
    """
    reached: dict[tuple[Node, int], Candidate] = {}
    for origin in candidates:
        is_first = True
        for candidate in _from_node(origin, step, given):
            before = origin.found if is_first else []
            is_first = False
            known = reached.get((candidate.node, id(origin.record)))
            if known is None:
                found = [*before, *candidate.found]
                reached[candidate.node, id(origin.record)] = replace(candidate, found=found)
            else:
                known.found.extend(before)
    return list(reached.values())


def _from_node(origin: Candidate, step: Step, given: Given) -> list[Candidate]:
    nodes = [node for node in axis_nodes(origin.node, step) if matches(node, step)]
    candidates = [Candidate(node, origin.record) for node in nodes]
    scope = Scope(origin.node, given)
    for qualifier in step.qualifiers:
        if isinstance(qualifier, Predicate):
            candidates = _kept(candidates, qualifier, scope)
        elif isinstance(qualifier, RecordMarker):
            candidates = [_with_record(each, qualifier) for each in candidates]
        else:
            for candidate in candidates:
                _extract(candidate, qualifier, scope)
    if step.axis in _BACKWARD:
        candidates.reverse()
    return candidates


def _kept(candidates: list[Candidate], predicate: Predicate, scope: Scope) -> list[Candidate]:
    kept, size = [], len(candidates)
    condition = predicate.condition
    for position, candidate in enumerate(candidates, start=1):
        found: list[Emission] = []
        inner = Scope(candidate.node, scope.given, position, size, candidate.record, found)
        value = evaluate(condition, inner)
        is_met = value == position if _is_number(value) else to_truth(value)
        if is_met:
            candidate.found.extend(found)
        if is_met or predicate.is_optional:
            kept.append(candidate)
        elif _would_be_record(candidate) and extracts(predicate):
            scope.given.left_out[predicate] += 1
    return kept


def _is_number(value: Value) -> bool:
    return isinstance(value, float)


def _would_be_record(candidate: Candidate) -> bool:
    return any(each.marker is None for each in candidate.found)


def extracts(predicate: Predicate) -> bool:
    """Where it fails, a row is left out that looked like one."""
    return any(isinstance(part, AttributeMarker) for part in all_parts(predicate))


def _with_record(candidate: Candidate, marker: RecordMarker) -> Candidate:
    record = Record(marker.type, candidate.record)
    return Candidate(candidate.node, record, [*candidate.found, Emission(record)])


def _extract(candidate: Candidate, marker: AttributeMarker, scope: Scope) -> None:
    assert candidate.record is not None  # which the check has seen to
    inner = Scope(candidate.node, scope.given, 1, 1, candidate.record, candidate.found)
    value = evaluate(marker.value, inner)
    candidate.found.append(Emission(candidate.record, marker, value))


# Axes.


def axis_nodes(node: Node, step: Step) -> list[Node]:
    """In the order of the axis: backward axes go from the node to the start of the document."""
    if step.axis == "style":
        return _style(node, step)
    return AXIS[step.axis](node)


def _style(node: Node, step: Step) -> list[Node]:
    if not node.is_element:
        return []
    assert step.test.name is not None  # which the check has seen to
    try:
        found = node.page.style_of(node, step.test.name)
    except StylesUnknown:
        fact = "styles are known to a browser only"
        raise RunError(error("needs-browser", fact, step.span, "leave --no-browser out")) from None
    return [found] if found else []


def _following_siblings(node: Node) -> list[Node]:
    if node.parent is None or node.kind in (NodeKind.ATTRIBUTE, NodeKind.STYLE):
        return []
    siblings = node.parent.children
    return siblings[siblings.index(node) + 1 :]


def _preceding_siblings(node: Node) -> list[Node]:
    if node.parent is None or node.kind in (NodeKind.ATTRIBUTE, NodeKind.STYLE):
        return []
    siblings = node.parent.children
    return siblings[: siblings.index(node)][::-1]


def _is_attached(node: Node) -> bool:
    """Attributes and styles stand at an element, not in the document."""
    return node.kind in (NodeKind.ATTRIBUTE, NodeKind.STYLE)


def _descendants(node: Node) -> list[Node]:
    return [] if _is_attached(node) else node.page.flat[node.order[0] + 1 : node.end]


def _following(node: Node) -> list[Node]:
    # An attribute comes before the children of its element.
    start = node.order[0] + 1 if _is_attached(node) else node.end
    return node.page.flat[start:]


def _preceding(node: Node) -> list[Node]:
    place = node.order[0]
    # The root, and whatever else ends behind the node, are its ancestors.
    return [each for each in node.page.flat[1:place] if each.end <= place][::-1]


AXIS: dict[str, Callable[[Node], list[Node]]] = {
    "ancestor": lambda node: list(node.ancestors()),
    "ancestor-or-self": lambda node: [node, *node.ancestors()],
    "attribute": lambda node: node.attributes,
    "child": lambda node: node.children,
    "descendant": _descendants,
    "descendant-or-self": lambda node: [node, *_descendants(node)],
    "following": _following,
    "following-sibling": _following_siblings,
    "namespace": lambda _: [],
    "parent": lambda node: [node.parent] if node.parent else [],
    "preceding": _preceding,
    "preceding-sibling": _preceding_siblings,
    "self": lambda node: [node],
}


def matches(node: Node, step: Step) -> bool:
    test = step.test
    if test.kind is TestKind.NODE:
        return True
    if test.kind is TestKind.FIELD:
        return _is_field(node) and _is_styled(node, test)
    if test.kind is not TestKind.NAME:
        is_named = test.name is None or node.name == test.name
        return node.kind is _KINDS[test.kind] and is_named
    if node.kind is not _PRINCIPAL.get(step.axis, NodeKind.ELEMENT):
        return False
    return (test.name is None or node.name == test.name) and _is_styled(node, test)


def _is_field(node: Node) -> bool:
    is_hidden = node.name == "input" and (node.attribute("type") or "").lower() == "hidden"
    return node.is_element and node.name in _FIELDS and node.is_visible and not is_hidden


def _is_styled(node: Node, test: Test) -> bool:
    if test.id is not None and node.attribute("id") != test.id:
        return False
    return not test.classes or set(test.classes) <= set((node.attribute("class") or "").split())

"""Carries a change over from canonical texts to a text that says the same in its own way.

`old` and `new` are what the printer makes of a node before and after its change, `source` is how the node is
written. The tokens of `old` are aligned with both. Where `new` differs from `old`, `source` gets what `new` has;
where only `source` differs from `old`, as in layout, brackets or words for the same, it stays. A change in the
midst of such a place takes the whole of it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from cepheid.lang.common.lexer import Kind, Token


@dataclass(frozen=True, slots=True)
class Hunk:
    """The tokens of the source from `start` to `end` become those of the new text between its places."""

    start: int
    end: int
    new_start: int
    new_end: int


@dataclass(frozen=True, slots=True)
class _Gap:
    """What differs between two lists of tokens: places in the one, places in the other."""

    start: int
    end: int
    other_start: int
    other_end: int


def merge(
    source: Sequence[Token], old: Sequence[Token], new: Sequence[Token], *, early: bool = False
) -> list[Hunk]:
    """What must change in the source, in its order.

    Tokens that only the source has, such as brackets, lie before what is inserted at their place; `early` puts
    them behind it.
    """
    own = list(_gaps([_loose(token) for token in old], [_loose(token) for token in source]))
    changes = list(_gaps([_exact(token) for token in old], [_exact(token) for token in new]))
    return [_hunk(cluster, own, early=early) for cluster in _clusters(changes, own)]


def _exact(token: Token) -> Hashable:
    return token.kind, token.text


def _loose(token: Token) -> Hashable:
    """Keywords may be in any case; so may names here, as they do not change where they differ."""
    return token.kind, token.value if token.kind is Kind.WORD else token.text


def _gaps(one: Sequence[Hashable], other: Sequence[Hashable]) -> Iterator[_Gap]:
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    for kind, *places in matcher.get_opcodes():
        if kind != "equal":
            yield _Gap(*places)


@dataclass(frozen=True, slots=True)
class _Cluster:
    """Changes that cannot be made one without the other, and the places of `old` that they span."""

    start: int
    end: int
    changes: tuple[_Gap, ...]


def _clusters(changes: Sequence[_Gap], own: Sequence[_Gap]) -> list[_Cluster]:
    """A change that meets a place where the source is written in its own way grows to its ends."""
    found: list[_Cluster] = []
    for change in changes:
        start, end = _grown(change.start, change.end, own)
        members: tuple[_Gap, ...] = (change,)
        while found and (start < found[-1].end or (start, end) == (found[-1].start, found[-1].end)):
            before = found.pop()
            members = before.changes + members
            start, end = _grown(min(start, before.start), max(end, before.end), own)
        found.append(_Cluster(start, end, members))
    return found


def _grown(start: int, end: int, own: Sequence[_Gap]) -> tuple[int, int]:
    for gap in own:
        if gap.start < end and start < gap.end:
            start, end = min(start, gap.start), max(end, gap.end)
    return start, end


def _hunk(cluster: _Cluster, own: Sequence[_Gap], *, early: bool) -> Hunk:
    first, last = cluster.changes[0], cluster.changes[-1]
    start, end = _in_source(cluster.start, own), _in_source(cluster.end, own)
    is_insertion = cluster.start == cluster.end
    begin = start[0 if is_insertion and early else 1]
    stop = begin if is_insertion else end[0]
    for gap in own:  # a gap that begins or ends where the cluster does, and lies in it
        if gap.start < gap.end and cluster.start <= gap.start and gap.end <= cluster.end:
            begin, stop = min(begin, gap.other_start), max(stop, gap.other_end)
    return Hunk(
        begin,
        stop,
        first.other_start - (first.start - cluster.start),
        last.other_end + (cluster.end - last.end),
    )


def _in_source(place: int, own: Sequence[_Gap]) -> tuple[int, int]:
    """A place between two tokens of `old`, in the source: before and behind what only the source has there."""
    before = place
    for gap in own:
        if gap.end < place or (gap.end == place and gap.start < place):
            before = gap.other_end + (place - gap.end)
    behind = before
    for gap in own:
        if gap.start == gap.end == place:
            behind = gap.other_end
    return before, behind

"""Regular expressions: Python's notation and meaning, in time linear in the text.

Python reads a pattern, and RE2 runs it: `_written` says in RE2's words what Python has read, so that
`\\d`, `\\w` and `\\s` are those of Unicode. What needs backtracking (back-references, looking around),
RE2 does not have, and is refused. Here a pattern matches a whole text or does not; how repeats share
it among them makes no difference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any, TypeAlias

Matches: TypeAlias = Callable[[str], bool]

_LAST = 0x10FFFF
_SURROGATES = re.compile("[\ud800-\udfff]")  # which have no place in UTF-8
_REFUSED = {
    "GROUPREF": "back-references",
    "GROUPREF_EXISTS": "back-references",
    "ASSERT": "looking ahead or behind",
    "ASSERT_NOT": "looking ahead or behind",
    "ATOMIC_GROUP": "atomic groups",
    "POSSESSIVE_REPEAT": "possessive repeats",
    "AT_BOUNDARY": "word boundaries",
    "AT_NON_BOUNDARY": "word boundaries",
}
_INSTEAD = {
    "word boundaries": r"; '.*\bx\b.*' is '(.*\W)?x(\W.*)?'",
}


@lru_cache(maxsize=512)
def regular_expression(pattern: str) -> Matches:
    """Whether a text matches a pattern; ValueError with a fact where it is none, or not linear."""
    try:
        read = _parser.parse(pattern)
    except re.error as problem:
        fact = f"{_shown(pattern)} is not a regular expression: {_fact(problem)}"
        raise ValueError(fact) from None
    except (OverflowError, RecursionError):
        fact = f"{_shown(pattern)} is not a regular expression: it is too large, or nested too deep"
        raise ValueError(fact) from None
    try:
        written = _written(read, read.state.flags, is_last=True)
    except (_NotLinear, RecursionError) as refused:
        raise ValueError(f"{_shown(pattern)} takes no linear time: {refused}") from None
    return _compiled(written, pattern)


class _NotLinear(Exception):
    """What RE2 does not have."""


def _compiled(written: str, pattern: str) -> Matches:
    import re2

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    try:
        fullmatch = re2.compile(written, options).fullmatch
    except re2.error as problem:
        [reason] = problem.args
        reason = reason.decode() if isinstance(reason, bytes) else str(reason)
        fact = f"{_shown(pattern)} is too large a regular expression: {reason}"
        raise ValueError(fact) from None

    def matches(text: str) -> bool:
        try:
            return fullmatch(text) is not None
        except UnicodeEncodeError:
            return fullmatch(_SURROGATES.sub("\ufffd", text)) is not None

    return matches


# What is wrong, by the beginning of what Python says of it.
_WRONG = {
    "unterminated character set": "'[' is not closed",
    "missing ), unterminated subpattern": "'(' is not closed",
    "missing ), unterminated comment": "'(' is not closed",
    "missing {": "a name in braces is missing",
    "missing": "a part of a group is missing",
    "unexpected end of pattern": "it ends within a group",
    "unbalanced parenthesis": "')' closes nothing",
    "nothing to repeat": "there is nothing to repeat",
    "multiple repeat": "a repeat follows a repeat",
    "min repeat greater": "a repeat of fewer times at most than at least",
    "bad escape (end": "a backslash has nothing behind it",
    "bad escape": "there is no such escape",
    "incomplete escape": "an escape is not complete",
    "octal escape": "an escape is beyond all characters",
    "undefined character name": "there is no character of that name",
    "bad character range": "a range ends before it begins",
    "redefinition of group name": "two groups have one name",
    "bad character in group name": "the name of a group is not one",
    "unknown group name": "there is no group of that name",
    "invalid group reference": "there is no group of that number",
    "bad group number": "groups count from 1",
    "cannot refer to": "a group cannot stand for itself",
    "conditional backref": "a choice by a group has two arms",
    "look-behind": "looking behind takes texts of one length",
    "global flags": "flags stand at the beginning",
    "bad inline flags": "flags that do not go together",
    "unknown flag": "there is no such flag",
    "unknown extension": "there is no such kind of group",
}


def _fact(problem: re.error) -> str:
    """What Python's reader says, in our words, with the place in the pattern."""
    known = (fact for begin, fact in _WRONG.items() if problem.msg.startswith(begin))
    fact = next(known, "it cannot be read")
    return fact if problem.pos is None else f"{fact} at character {problem.pos + 1}"


def _shown(pattern: str) -> str:
    return repr(pattern if len(pattern) <= 60 else f"{pattern[:57]}...")


# -- in the words of RE2 -----------------------------------------------------------------------


def _written(items: Iterable[tuple[Any, Any]], flags: int, *, is_last: bool) -> str:
    """A sequence of what Python has read; `is_last` says that nothing can follow it."""
    listed = list(items)
    return "".join(
        _one(op, value, flags, is_last and number == len(listed))
        for number, (op, value) in enumerate(listed, start=1)
    )


def _one(op: Any, value: Any, flags: int, is_last: bool) -> str:
    name = str(op)
    if name in _REFUSED or str(value) in _REFUSED:
        what = _REFUSED.get(name) or _REFUSED[str(value)]
        raise _NotLinear(f"it has {what}{_INSTEAD.get(what, '')}")
    if name == "AT":
        return _place(str(value), flags, is_last)
    if name == "ANY":
        return "(?s:.)" if flags & re.DOTALL else "[^\\n]"
    if name == "BRANCH":
        return f"(?:{'|'.join(_written(arm, flags, is_last=is_last) for arm in value[1])})"
    if name == "SUBPATTERN":
        _, added, removed, inner = value
        return f"(?:{_written(inner, (flags | added) & ~removed, is_last=is_last)})"
    if name in ("MAX_REPEAT", "MIN_REPEAT"):
        least, most, inner = value
        body = _written(inner, flags, is_last=is_last and most <= 1)
        return f"(?:{body}){_times(least, most)}"
    members = value if name == "IN" else [(_constants.LITERAL, value)]
    shown = _class(members, flags, is_negated=name == "NOT_LITERAL")
    return f"(?i:{shown})" if flags & re.IGNORECASE else shown


def _times(least: int, most: int) -> str:
    return f"{{{least},}}" if most == _constants.MAXREPEAT else f"{{{least},{most}}}"


def _place(where: str, flags: int, is_last: bool) -> str:
    if flags & re.MULTILINE and where in ("AT_BEGINNING", "AT_END"):
        return "(?m:^)" if where == "AT_BEGINNING" else "(?m:$)"
    if where == "AT_END" and not is_last:  # it also stands before a line's end that ends the text
        raise _NotLinear(r"'$' stands before something else; '\Z' is the end of the text")
    return "\\A" if where.startswith("AT_BEGINNING") else "\\z"


def _class(members: Iterable[tuple[Any, Any]], flags: int, *, is_negated: bool) -> str:
    parts = []
    for op, value in members:
        name = str(op)
        if name == "NEGATE":
            is_negated = True
        elif name == "CATEGORY":
            parts.append(_category(str(value), is_ascii=bool(flags & re.ASCII)))
        else:
            first, last = value if name == "RANGE" else (value, value)
            parts.append(_range(first, last))
    return f"[{'^' if is_negated else ''}{''.join(parts)}]"


def _range(first: int, last: int) -> str:
    return f"{_character(first)}-{_character(last)}"


def _character(code: int) -> str:
    return f"\\x{{{0xFFFD if 0xD800 <= code <= 0xDFFF else code:x}}}"


# Of Unicode and of ASCII; what is none of them has no short name where it stands beside others.
_CATEGORIES = {
    "CATEGORY_DIGIT": ("\\p{Nd}", "0-9"),
    "CATEGORY_NOT_DIGIT": ("\\P{Nd}", "\\D"),
    "CATEGORY_SPACE": ("\\t-\\r\\x1c-\\x20\\x85\\xa0\\p{Z}", "\\t-\\r\\x20"),
    "CATEGORY_WORD": ("\\p{L}\\p{N}_", "\\w"),
    "CATEGORY_NOT_WORD": (None, "\\W"),
    "CATEGORY_NOT_SPACE": (None, "\\x{0}-\\x08\\x0e-\\x1f\\x21-\\x{10ffff}"),
}


def _category(name: str, *, is_ascii: bool) -> str:
    known = _CATEGORIES[name][is_ascii]
    return known if known is not None else _others(r"\W" if name.endswith("WORD") else r"\S")


@cache
def _others(category: str) -> str:
    """All characters of a category, as ranges."""
    return "".join(_range(first, last) for first, last in _runs(re.compile(category).match))


def _runs(belongs: Callable[[str], object]) -> Iterator[tuple[int, int]]:
    first = None
    for code in range(_LAST + 2):
        if code <= _LAST and belongs(chr(code)):
            first = code if first is None else first
        elif first is not None:
            yield first, code - 1
            first = None

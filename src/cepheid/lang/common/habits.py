"""What people write out of habit from SQL and other dialects, and the form that works here."""

from __future__ import annotations

_GROUPS = "`select k, sum(v) as total from A#time(1 hour) group by k` has a total for each key"
_PATTERN = "from pattern [every a=A -> b=B(b.k = a.k)]"
_DERIVED = "a statement of its own derives events: `insert into X select ...`, then `from X`"
_UNCHANGED = "events do not change; `insert into X select ...` derives others"

# By the word at which a text is refused.
HABITS: dict[str, str] = {
    "partition": f"`group by k`, or `create context C partition by k from A`: {_GROUPS}",
    "values": "events come from files, frames or `session.send`; a statement derives them with `select`",
    "qualify": _GROUPS,
    "tumbling": "`from A#time_batch(5 minutes)` releases the rows of a period at its end",
    "hopping": "`from A#time(5 minutes) ... output every 1 minute`",
    "sliding": "`from A#time(5 minutes)`",
    "rlike": "write `regexp`",
    "ilike": "write `lower(x) like ...`",
    "similar": "write `regexp`",
    "then": "what follows is `a=A -> b=B`, in a pattern",
    "fetch": "write `limit 3`",
}
# By the word itself, which may first be taken for a name.
TAKEN_FOR_NAMES: dict[str, str] = {
    "over": _GROUPS,
    "window": f"a data window follows its source, `from A#time(1 hour)`: {_GROUPS}",
    "top": "write `limit 3` at the end, after a window and `order by`",
    "union": "both may derive one type: `insert into U select k from A; insert into U select k from B`",
}
# By what is not supported.
INSTEAD_OF: dict[str, str] = {
    "match_recognize": f"write a pattern: `{_PATTERN}`",
    "prev": "a pattern has the event before: `from pattern [every a=A -> b=A(b.k = a.k)]`, a.v beside b.v",
    "join": f"a pattern relates events of several types: `{_PATTERN}`",
    "subquery": f"{_DERIVED}, or in a pattern: `{_PATTERN}`",
    "with": _DERIVED,
    "expression": _DERIVED,
    "update": _UNCHANGED,
    "delete": _UNCHANGED,
    "merge": _UNCHANGED,
    "on": f"write a pattern: `{_PATTERN}`",
    "create window": "a data window belongs to a statement: `from A#time(1 hour)`",
    "create table": _DERIVED,
    "create view": _DERIVED,
    "create variable": "write the value where it is used, or fill the text in Python",
    "module": "several files form one program: `cepheid check types.epl alarms.epl`",
    "import": "several files form one program: `cepheid check types.epl alarms.epl`",
    "uses": "several files form one program: `cepheid check types.epl alarms.epl`",
    "rollup": "write a statement for each grouping",
    "cube": "write a statement for each grouping",
    "grouping": "write a statement for each grouping",
}

"""Words of the grammar that editors offer, each with as much as tells it from a name."""

from __future__ import annotations

from cepheid.core.time import PERIOD_UNITS

_DECLARATIONS = (
    *("create schema", "create context", "create map schema", "create objectarray schema"),
    *("create json schema", "context", "insert into", "insert rstream into"),
    *("insert irstream into", "select"),
)
_CLAUSES = (
    *("inherits", "partition by", "schema", "into", "from", "where", "group by", "having"),
    *("output every", "output first every", "output last every", "output all every"),
    *("output snapshot every", "first every", "last every", "all every"),
    *(
        "snapshot every",
        "after",
        "at (",
        "output after",
        "output when",
        "output at (",
        "order by",
        "limit 1",
    ),
    *("distinct", "rstream", "irstream", "as", "asc", "desc", "offset 1", "events", "by"),
)
_PATTERNS = (
    *("pattern [", "every", "every-distinct(...1) A", "not", "until", "while (", "timer:interval("),
    *("timer:at(", "timer:within(", "timer:withinmax("),
)
_EXPRESSIONS = (
    *("and", "or", "is null", "is not null", "in (", "between", "like", "regexp", "escape"),
    *("case when", "when", "then", "else", "end", "cast(...null as int)", "true", "false", "null"),
)
_UNITS = tuple(sorted({unit for unit in PERIOD_UNITS if unit.endswith("s") and len(unit) > 4}))

PHRASES = tuple(dict.fromkeys((*_DECLARATIONS, *_CLAUSES, *_PATTERNS, *_EXPRESSIONS, *_UNITS)))

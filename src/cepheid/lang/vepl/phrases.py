"""Words of the grammar that editors offer, each with as much as tells it from a name."""

from __future__ import annotations

PHRASES = (
    *("atomicEvent", "complexEvent", "queryEvent", "rule", "fix", "package", "import"),
    *("import-queries", "context chronicle", "context immediate", "context strict", "global"),
    *("as", "check", "on", "found", "lost", "updated", "OR", "AND", "NOT", "within", "holdsFor"),
    *("set", "create", "delete", "move", "emit", "call", "if", "else {", "in", "to"),
    *("and", "or", "not", "is null", "true", "false", "null"),
    *("milliseconds", "seconds", "minutes", "hours", "days", "weeks", "months", "years"),
)

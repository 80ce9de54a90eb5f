"""Graph queries, as the rest of Cepheid sees their files."""

from __future__ import annotations

from cepheid.lang.language import Notation
from cepheid.lang.queries.formatter import format_text

QUERIES = Notation(
    name="queries", title="graph queries", extensions=(".vql",), format_text=format_text
)

"""The normal form: what engines that compile a program start from.

Patterns can be written in many ways that do the same. `normalize` rewrites the source of each
statement, by small steps that change no row, into few kinds of nodes that say what they do. The
reference semantics, the nets and Maude keep to the written pattern, so that they check the rewrites.
"""

from __future__ import annotations

from cepheid.program.normal.program import (
    NormalProgram,
    NormalStatement,
    digest,
    normalize,
    normalize_statement,
)
from cepheid.program.normal.rewrites import REWRITES

__all__ = [
    "REWRITES",
    "NormalProgram",
    "NormalStatement",
    "digest",
    "normalize",
    "normalize_statement",
]

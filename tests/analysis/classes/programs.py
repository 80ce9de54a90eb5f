"""Small programs with classes, and what is found in them."""

from __future__ import annotations

import cepheid as cep
from cepheid.analysis.findings import ANALYSES
from cepheid.errors import Diagnostic

A = "CREATE {kind} SUBSCRIBED EVENT CLASS {name}(k INTEGER, x INTEGER, s TEXT, r NUMBER, f BOOLEAN)"


def subscribed(
    name: str = "A", *statements: str, kind: str = "MUTABLE", freezing: str = "1h"
) -> str:
    """A subscribed class with a key `k`; statements are conditions."""
    head = A.format(kind=kind, name=name)
    return f"{head} ID (k) FREEZING TIME ({freezing}){reactions(statements)};\n"


def derived(
    query: str,
    *statements: str,
    name: str = "C",
    columns: str = "k INTEGER",
    key: str = "k",
    span: str = "1d",
) -> str:
    """A complex class."""
    head = f"CREATE COMPLEX EVENT CLASS {name}({columns}) ID ({key}) OBSERVATION SPAN ({span})"
    return f"{head}\nAS {query}{reactions(statements)};\n"


def reactions(conditions: tuple[str, ...]) -> str:
    found = [f"ON {condition} DO act{n}(1)" for n, condition in enumerate(conditions)]
    return "\n" + ",\n".join(found) if found else ""


def findings(analysis: str, text: str) -> list[Diagnostic]:
    return list(ANALYSES[analysis](cep.parse(text, "bicepl").graph()))


def codes(analysis: str, text: str) -> list[tuple[str, str]]:
    return [(str(f.severity), f.code) for f in findings(analysis, text)]


def places(analysis: str, text: str) -> list[str]:
    """The texts that findings point to."""
    lines = text.splitlines()
    found = []
    for finding in findings(analysis, text):
        span = finding.span
        assert span is not None
        part = lines[span.line - 1 : span.end_line]
        part[-1] = part[-1][: span.end_column - 1]
        part[0] = part[0][span.column - 1 :]
        found.append("\n".join(part))
    return found

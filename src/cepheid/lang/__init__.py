"""The languages in which programs are written; each has a parser, a lowering and a printer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cepheid.lang.epl.formatter import format_text
from cepheid.lang.epl.parser import Parsed, parse
from cepheid.lang.epl.printer import print_pattern, print_program
from cepheid.lang.epl.priorities import with_priorities
from cepheid.pattern.tree import Pattern
from cepheid.program.tree import ProgramTree


@dataclass(frozen=True, slots=True)
class Language:
    """What the verbs need of a language."""

    parse: Callable[[str, str | None], Parsed]
    print_program: Callable[[ProgramTree], str]
    print_pattern: Callable[[Pattern], str]
    format_text: Callable[[str, str | None], str]
    with_priorities: Callable[[str, Sequence[int]], str]


LANGUAGES = {"epl": Language(parse, print_program, print_pattern, format_text, with_priorities)}

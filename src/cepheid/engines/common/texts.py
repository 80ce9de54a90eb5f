"""How descriptions of what a program keeps write its parts: in the words of the languages."""

from __future__ import annotations

from cepheid.lang import DEFAULT, OF_FORMS, print_window
from cepheid.pattern.algebra import Form
from cepheid.pattern.tree import Pattern
from cepheid.semantics.inspection.parts import Texts


def _text_of(pattern: Pattern) -> str:
    language = OF_FORMS if isinstance(pattern, Form) else DEFAULT
    return language.print_pattern(pattern)


TEXTS = Texts(_text_of, print_window)

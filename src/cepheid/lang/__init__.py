"""The languages in which programs are written; each has a parser, a lowering and a printer.

A program is made of files, each in the language that its extension names. A file without an
extension, like a text without a file, is in the default language, in which programs are also shown
that come from no text at all.
"""

from __future__ import annotations

from pathlib import PurePath

from cepheid.errors import UsageError, error
from cepheid.lang.bicepl.language import BICEPL
from cepheid.lang.epl.language import EPL
from cepheid.lang.epl.printer import print_window as print_window  # which no other language has
from cepheid.lang.language import Language
from cepheid.lang.queries.language import QUERIES
from cepheid.lang.vepl.language import VEPL

LANGUAGES = {language.name: language for language in (EPL, VEPL, QUERIES, BICEPL)}
DEFAULT = EPL
OF_FORMS = VEPL  # has words for complex events that come from no text
OF_CLASSES = BICEPL  # the same for classes


def extensions() -> tuple[str, ...]:
    """Those of the files of all languages."""
    return tuple(e for language in LANGUAGES.values() for e in language.extensions)


def is_program(path: str | PurePath) -> bool:
    """Whether a file has the extension of a language."""
    return PurePath(path).suffix.lower() in extensions()


def language_of(path: str | PurePath) -> Language:
    """The language of a file, by its extension; UsageError where no language has it."""
    suffix = PurePath(path).suffix
    if not suffix:
        return DEFAULT
    for language in LANGUAGES.values():
        if suffix.lower() in language.extensions:
            return language
    fact = f"'{path}' is in no known language: no language has files that end with '{suffix}'"
    hint = f"programs end with {', '.join(extensions())}"
    if suffix.lower() == ".toml":
        hint += "; `cepheid graph` takes graphs"
    raise UsageError(error("usage", fact, hint=hint))

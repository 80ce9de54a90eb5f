"""Wrappers as people have them: of a file or a text, checked."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from cepheid.errors import Diagnostic, ProgramError, UsageError, error, reason_of
from cepheid.web import check as checking
from cepheid.web import tree
from cepheid.web.check import Classes
from cepheid.web.formatter import format_wrapper
from cepheid.web.parser import parse as parse_text


@dataclass(frozen=True, slots=True)
class Wrapper:
    """What to do on pages, and what of them becomes records; `cep.web.load` and `cep.web.parse` make one."""

    tree: tree.Wrapper
    text: str
    file: str | None = None

    @property
    def address(self) -> str | None:
        """Where it starts, if its text says so without a variable."""
        start = self.tree.address
        return start.value if isinstance(start, tree.Literal) else None

    @property
    def variables(self) -> list[str]:
        """What it needs values for."""
        return checking.variables_of(self.tree)

    @property
    def records(self) -> list[str]:
        """The types of its records, those in others included."""
        parts = tree.all_parts(self.tree)
        return list(dict.fromkeys(p.type for p in parts if isinstance(p, tree.RecordMarker)))

    def check(
        self, variables: Collection[str] | None = None, classes: Classes | None = None
    ) -> list[Diagnostic]:
        """Findings; those about variables and classes need their names."""
        return checking.check(self.tree, variables, classes)

    def formatted(self) -> str:
        """The text, laid out in lines."""
        return format_wrapper(self.text, self.file)

    def __str__(self) -> str:
        return self.text


def parse(text: str, file: str | None = None) -> Wrapper:
    """A wrapper of a text; ProgramError with all that is wrong with it."""
    parsed = parse_text(text, file)
    if parsed.tree is None:
        refused = ProgramError(*parsed.problems)
        refused.sources = {file or "<text>": text}
        raise refused
    return Wrapper(parsed.tree, text, file)


def load(file: str | Path) -> Wrapper:
    """A wrapper of a file, whose name ends with `.oxpath`."""
    try:
        text = Path(file).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise UsageError(error("missing-file", f"no file '{file}'")) from None
    except (OSError, UnicodeDecodeError) as problem:
        reason = reason_of(problem) if isinstance(problem, OSError) else "it is not UTF-8"
        raise UsageError(error("bad-file", f"cannot read '{file}': {reason}")) from None
    return parse(text, str(file))

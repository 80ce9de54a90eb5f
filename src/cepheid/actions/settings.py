"""The settings of one executor, read one by one; what is wrong with them is gathered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from cepheid.core.templates import Template, template
from cepheid.core.time import SECOND, parse_length
from cepheid.core.values import shown
from cepheid.errors import Diagnostic, Span, error, suggest

_T = TypeVar("_T")
_REQUIRED = object()
_SECRET = "_env"  # ends the names of settings that name a variable of the environment


class Settings:
    """A table of a TOML file. Reading goes on after a mistake, with a value that will not be used."""

    def __init__(
        self,
        name: str,
        table: Mapping[str, object],
        environment: Mapping[str, str] | None,
        span: Span | None = None,
    ) -> None:
        self.problems: list[Diagnostic] = []
        self.hidden: list[str] = []  # values of secrets
        self._name = name
        self._table = table
        self._environment = environment  # None: nothing will be delivered, so no secret is needed
        self._span = span
        self._asked = {"kind"}

    def wrong(self, setting: str, fact: str, hint: str | None = None) -> None:
        place = f"executors.{self._name}.{setting}" if setting else f"executors.{self._name}"
        self.problems.append(error("bad-executor", f"{place}: {fact}", self._span, hint))

    def expect_no_others(self) -> None:
        """To be called when all settings of the kind have been asked for."""
        for name in self._table:
            if name not in self._asked:
                self.wrong("", f"no setting '{name}'", suggest(name, self._asked, "settings"))

    def has(self, name: str) -> bool:
        return name in self._table

    # -- values --

    def text(self, name: str, default: object = _REQUIRED) -> str:
        return self._read(name, default, _is_text, "a text", "")

    def whole(self, name: str, default: int) -> int:
        return self._read(name, default, _is_count, "a whole number above zero", default)

    def one_of(self, name: str, known: Sequence[str], default: str) -> str:
        found = self.text(name, default)
        if found not in known:
            self.wrong(name, f"no '{found}'", suggest(found, known, "there are"))
            return default
        return found

    def texts(self, name: str, default: object = _REQUIRED) -> Sequence[str]:
        """A list of texts, or one text."""
        if isinstance(self._table.get(name), str):
            return [self.text(name)]
        return self._read(name, default, _are_texts, "a list of texts", ())

    def path(self, name: str) -> Path:
        return Path(self.text(name))

    def seconds(self, name: str, default: float) -> float:
        """A period such as '10 sec', or a number of seconds."""
        given: object = self._read(name, default, _is_period, "a period, such as '10 sec'", default)
        if isinstance(given, str):
            return parse_length(given).microseconds / SECOND
        return float(given) if isinstance(given, int | float) else default

    def template(self, name: str) -> Template | None:
        return self.as_template(name, self.text(name)) if self._ask(name) else None

    def as_template(self, name: str, text: str) -> Template:
        try:
            return template(text)
        except ValueError as problem:
            self.wrong(name, str(problem))
            return Template(())

    def templates(self, name: str) -> tuple[tuple[str, Template], ...]:
        """A table of texts with places."""
        return tuple((n, self.as_template(name, text)) for n, text in self.pairs(name))

    def pairs(self, name: str) -> list[tuple[str, str]]:
        """A table of texts."""
        empty: Mapping[str, str] = {}
        return list(self._read(name, empty, _is_table_of_texts, "a table of texts", empty).items())

    # -- secrets --

    def secret(self, name: str, *, required: bool = True) -> str:
        """The value of the variable that `name_env` names."""
        setting = name + _SECRET
        self._asked.add(setting)
        if self.has(name):
            self._asked.add(name)
            hint = f'set a variable of the environment, and name it: {setting} = "..."'
            self.wrong(name, "secrets do not stand in files", hint)
        if not required and not self.has(setting):
            return ""
        return self._variable(setting, self.text(setting))

    def secrets(self, name: str) -> list[tuple[str, str]]:
        """A table of names of variables, as their values."""
        return [(n, self._variable(name, variable)) for n, variable in self.pairs(name)]

    def _variable(self, setting: str, variable: str) -> str:
        if self._environment is None or not variable:
            return ""
        found = self._environment.get(variable)
        if not found:
            hint = f"export {variable}=..."
            self.wrong(setting, f"the environment has no variable {variable}", hint)
            return ""
        self.hidden.append(found)
        return found

    # -- reading --

    def _ask(self, name: str) -> bool:
        self._asked.add(name)
        return name in self._table

    def _read(
        self,
        name: str,
        default: object,
        fits: Callable[[object], bool],
        what: str,
        instead: _T,
    ) -> _T:
        if not self._ask(name):
            if default is _REQUIRED:
                self.wrong("", f"'{name}' is missing")
                return instead
            return default  # type: ignore[return-value]  # a default is of the type of its setting
        value = self._table[name]
        if not fits(value):
            self.wrong(name, f"this is {what}, not {shown(value)}")
            return instead
        return value  # type: ignore[return-value]  # it fits


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_text, value))


def _is_table_of_texts(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(v, str) for v in value.values())


def _is_period(value: object) -> bool:
    if isinstance(value, str):
        try:
            return not parse_length(value).is_zero
        except ValueError:
            return False
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e9

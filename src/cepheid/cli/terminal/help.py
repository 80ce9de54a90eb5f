"""The help pages: usage, prose, arguments, options, in plain text as wide as the terminal."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from typer.core import TyperCommand, TyperGroup


class PlainCommand(TyperCommand):
    """A command whose help speaks of values by their names, not by their Python types."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return _usage(self, ctx)

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        _write_prose(self.help or "", formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        _write_parameters(self, ctx, formatter)


class PlainGroup(TyperGroup):
    """The same for the command that holds the others."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [*_usage(self, ctx), self.subcommand_metavar]

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        _write_prose(self.help or "", formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        _write_parameters(self, ctx, formatter)
        summaries = {n: _paragraphs(command.help or "")[0] for n, command in self.commands.items()}
        _write_list("Commands", [(n, _joined(text)) for n, text in summaries.items()], formatter)


def _usage(command: Any, ctx: Any) -> list[str]:
    return [
        command.options_metavar,
        *(_argument(param, "[]") for param in _arguments(command, ctx)),
    ]


def _arguments(command: Any, ctx: Any) -> Iterator[Any]:
    return (param for param in command.get_params(ctx) if param.param_type_name == "argument")


def _argument(param: Any, brackets: str = "") -> str:
    name = f"{param.metavar}{'' if param.nargs == 1 else '...'}"
    return name if param.required or not brackets else f"{brackets[0]}{name}{brackets[1]}"


def _write_prose(text: str, formatter: Any) -> None:
    """Paragraphs are fitted into the width; indented ones, the examples, stay as they are."""
    for paragraph in _paragraphs(text):
        formatter.write_paragraph()
        if paragraph.startswith(" "):
            formatter.write(f"{paragraph}\n")
        else:
            formatter.write_text(_joined(paragraph))


def _paragraphs(text: str) -> list[str]:
    return inspect.cleandoc(text).split("\n\n")


def _joined(paragraph: str) -> str:
    return " ".join(paragraph.split())


def _write_parameters(command: Any, ctx: Any, formatter: Any) -> None:
    arguments = [(_argument(param), param.help or "") for param in _arguments(command, ctx)]
    options = [
        (_option(param), _described(param))
        for param in command.get_params(ctx)
        if param.param_type_name == "option"
    ]
    _write_list("Arguments", arguments, formatter)
    _write_list("Options", options, formatter)


def _write_list(title: str, rows: list[tuple[str, str]], formatter: Any) -> None:
    if rows:
        with formatter.section(title):
            formatter.write_dl(rows, col_max=22)


def _option(param: Any) -> str:
    names = ", ".join(sorted(param.opts, key=len))
    return names if param.is_flag else f"{names} {param.metavar}"


def _described(param: Any) -> str:
    default = _default(param)
    note = "[required]" if param.required else f"[default: {default}]" if default else ""
    return f"{param.help or ''} {note}".rstrip()


def _default(param: Any) -> str | None:
    if isinstance(param.show_default, str):
        return param.show_default
    is_worth_telling = param.show_default and not param.is_flag and param.default is not None
    return str(param.default) if is_worth_telling else None

"""Executors by the names of their classes, as a file says them.

[executors.publishOnTwitter]
kind = "webhook"
url = "https://example.org/post"
token_env = "POST_TOKEN"
tries = 5
rate = "10 per minute"
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from cepheid.actions.action import Action
from cepheid.actions.delivery import Delivery, Executor, Rate, Retry
from cepheid.actions.executors.command import Command
from cepheid.actions.executors.file import File
from cepheid.actions.executors.function import Function
from cepheid.actions.executors.log import Log
from cepheid.actions.executors.mail import Mail
from cepheid.actions.executors.table import Table
from cepheid.actions.executors.webhook import WebHook
from cepheid.actions.settings import Settings
from cepheid.core.time import SECOND, parse_length
from cepheid.core.values import shown
from cepheid.errors import Diagnostic, InputError, Span, error, suggest

KINDS: dict[str, Callable[[Settings], Executor]] = {
    "command": Command.read,
    "file": File.read,
    "function": Function.read,
    "log": Log.read,
    "mail": Mail.read,
    "table": Table.read,
    "webhook": WebHook.read,
}
_RATE = re.compile(r"(\d+) per (.+)")
Given: TypeAlias = "Delivery | Callable[[Action], object] | Mapping[str, object]"


def read_deliveries(
    file: str | Path,
    *,
    environment: Mapping[str, str] = os.environ,
    with_secrets: bool = True,
) -> dict[str, Delivery]:
    """The executors of a TOML file; InputError that lists all that is wrong with them.

    Its other tables are for others. Without secrets nothing can be delivered, only rehearsed.
    """
    from cepheid.io.toml import Places, read_toml

    tables = read_toml(file, "bad-executor").get("executors")
    if not isinstance(tables, dict) or not tables:
        fact, hint = f"'{file}' has no executors", '[executors.NAME] with kind = "..."'
        raise InputError(error("bad-executor", fact, Span(1, 1, 1, 1, str(file)), hint))
    places = Places(file)
    spans = {name: places.table("executors", name) for name in tables}
    return _all(tables, environment if with_secrets else None, spans)


def deliveries(
    executors: Mapping[str, Given], *, environment: Mapping[str, str] = os.environ
) -> dict[str, Delivery]:
    """The same of tables, functions and deliveries by their names."""
    return _all(executors, environment, {})


def _all(
    tables: Mapping[str, object],
    environment: Mapping[str, str] | None,
    spans: Mapping[str, Span],
) -> dict[str, Delivery]:
    found: dict[str, Delivery] = {}
    problems: list[Diagnostic] = []
    for name, given in tables.items():
        if isinstance(given, Delivery):
            found[name] = given
        elif isinstance(given, Mapping):
            settings = Settings(name, given, environment, spans.get(name))
            found[name] = _delivery(settings)
            problems += settings.problems
        elif callable(given):
            found[name] = Delivery(Function(given, getattr(given, "__qualname__", name)))
        else:
            fact = f"executors.{name}: this is a table, not {shown(given)}"
            problems.append(error("bad-executor", fact, spans.get(name)))
    if problems:
        raise InputError(*problems)
    return found


def _delivery(settings: Settings) -> Delivery:
    kind = settings.text("kind")
    read = KINDS.get(kind)
    if read is None:
        if kind:
            settings.wrong("kind", f"no kind '{kind}'", suggest(kind, KINDS, "kinds"))
        return Delivery(Log())
    executor = read(settings)
    usual = Retry()
    retry = Retry(
        settings.whole("tries", usual.tries),
        settings.seconds("wait", usual.wait),
        settings.seconds("longest_wait", usual.longest),
    )
    rate = _rate(settings)
    settings.expect_no_others()
    return Delivery(executor, retry, rate, tuple(settings.hidden))


def _rate(settings: Settings) -> Rate | None:
    text = settings.text("rate", "")
    if not text:
        return None
    match = _RATE.fullmatch(text)
    period = _period(match[2]) if match else None
    if match is None or int(match[1]) == 0 or period is None:
        settings.wrong("rate", f"this is no rate: {text!r}", "write '10 per minute'")
        return None
    return Rate(int(match[1]), period)


def _period(text: str) -> float | None:
    """`5 seconds`, or `second`; None where it is nothing of the kind."""
    for period in (text, f"1 {text}"):
        try:
            return parse_length(period).microseconds / SECOND or None
        except ValueError:
            continue
    return None

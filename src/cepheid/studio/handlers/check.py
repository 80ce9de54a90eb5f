"""`check`: what is wrong with a program, as it is typed; the quick form knows syntax, names and types."""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.errors import CepheidError, Diagnostic
from cepheid.studio.programs import program_of
from cepheid.studio.room import Given, Room, Verb, finding_json
from cepheid.verbs.pipeline import CHECKS


def quick_check(room: Room, given: Given) -> object:
    return _told(_findings(room, given, CHECKS))


def check(room: Room, given: Given) -> object:
    return _told(_findings(room, given, ()))


def _findings(room: Room, given: Given, without: Sequence[str]) -> Sequence[Diagnostic]:
    try:
        return program_of(room, given).check(without=without)
    except CepheidError as wrong:
        return wrong.diagnostics


def _told(findings: Sequence[Diagnostic]) -> object:
    return {"findings": [finding_json(finding) for finding in findings]}


QUICK_CHECK = Verb("quick-check", quick_check, "quick")
CHECK = Verb("check", check, "check")

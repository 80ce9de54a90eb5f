"""The examples that an empty folder offers; they ship with Cepheid."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from cepheid.errors import UsageError, error, suggest
from cepheid.lang import DEFAULT


@dataclass(frozen=True, slots=True)
class Example:
    """Files of a folder of `examples`; the program is opened, and the events are run."""

    name: str
    title: str
    about: str
    program: str
    events: str
    others: tuple[str, ...] = ()

    def texts(self) -> Iterator[tuple[str, str]]:
        for name in (self.program, self.events, *self.others):
            yield name, (_folder() / self.name / name).read_text(encoding="utf-8")


def _program(stem: str) -> str:
    return f"{stem}{DEFAULT.extensions[0]}"


EXAMPLES = (
    Example(
        "motorbike",
        "Motorbike accidents",
        "A tyre bursts, the bike crashes, and the seat is empty: three steps within seconds are an"
        " accident.",
        _program("motorbike"),
        "events.jsonl",
        ("evidence/calibrated.toml",),
    ),
    Example(
        "pregnancy",
        "Contractions",
        "Counts contractions in time windows, and tells when it is time to go to the hospital.",
        _program("pregnancy"),
        "events.jsonl",
    ),
    Example(
        "airquality",
        "Air quality",
        "Averages of measurements over hours and days, compared with limits.",
        _program("airquality"),
        "events.jsonl",
        ("evidence/winter.toml",),
    ),
    Example(
        "temperature",
        "Temperature",
        "Short patterns over one sensor: a rise, a fall, and a warning.",
        _program("temperature"),
        "events.jsonl",
    ),
)


def example_named(name: str) -> Example:
    for each in EXAMPLES:
        if each.name == name:
            return each
    hint = suggest(name, [each.name for each in EXAMPLES], "examples")
    raise UsageError(error("usage", f"no example '{name[:80]}'", hint=hint))


def _folder() -> Path:
    """In the wheel beside this file; in a checkout where examples live."""
    shipped = Path(str(files("cepheid.studio"))) / "offered"
    return shipped if shipped.is_dir() else Path(__file__).parents[3] / "examples"

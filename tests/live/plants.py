"""The metamodel that most tests use: hosts that run applications."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from cepheid.live import (
    DOUBLE,
    INT,
    STRING,
    Attribute,
    Class,
    Metamodel,
    Model,
    Reference,
    Transaction,
)

PLANT = Metamodel(
    "plant",
    (
        Class("Named", (Attribute("id", STRING),), is_abstract=True),
        Class(
            "Plant",
            (
                Reference("hosts", "Host", containment=True, upper=None),
                Reference("applications", "Application", containment=True, upper=None),
                Reference("main", "Host", containment=True),
            ),
            ("Named",),
        ),
        Class(
            "Host",
            (
                Attribute("availableCpu", INT),
                Attribute("totalCpu", INT, default=8),
                Attribute("load", DOUBLE),
                Attribute("state", STRING, literals=("up", "down")),
                Attribute("tags", STRING, upper=None),
                Reference("runs", "Application", upper=None, opposite="host"),
                Reference("next", "Host", upper=None),
                Reference("twin", "Host", opposite="twin"),
                Reference("parts", "Host", containment=True, upper=3, opposite="whole"),
                Reference("whole", "Host", opposite="parts"),
            ),
            ("Named",),
        ),
        Class("Server", (Attribute("room", INT, lower=1, default=0),), ("Host",)),
        Class("Application", (Reference("host", "Host", opposite="runs"),), ("Named",)),
    ),
)


def plant() -> Model:
    return Model(PLANT)


class Interrupted(Exception):
    """What the body of a transaction raises."""


@contextmanager
def interrupted(model: Model) -> Iterator[Transaction]:
    """A transaction whose body raises at its end."""
    with suppress(Interrupted), model.transaction() as change:
        yield change
        raise Interrupted

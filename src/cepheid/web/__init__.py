"""The web as a source: wrappers say what to do on pages, and what of them becomes records.

import cepheid as cep

wrapper = cep.web.load("arrivals.oxpath")
found = cep.web.extract(wrapper, "https://www.example.org", variables={"airport": "LHR"})
print(found.records)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cepheid.web.browser import Browser as Browser
    from cepheid.web.extraction import Extraction as Extraction
    from cepheid.web.extraction import act as act
    from cepheid.web.extraction import extract as extract
    from cepheid.web.settings import Settings as Settings
    from cepheid.web.wrapper import Wrapper as Wrapper
    from cepheid.web.wrapper import load as load
    from cepheid.web.wrapper import parse as parse

_HOMES = {
    "Browser": "browser",
    "Extraction": "extraction",
    "Settings": "settings",
    "Wrapper": "wrapper",
    "act": "extraction",
    "extract": "extraction",
    "load": "wrapper",
    "parse": "wrapper",
}

__all__ = [*_HOMES]  # noqa: PLE0604


if not TYPE_CHECKING:  # type checkers know all names from above, and refuse others

    def __getattr__(name: str) -> object:
        """Parts are loaded when they are asked for: few need a browser."""
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module 'cepheid.web' has no attribute {name!r}")
        return getattr(import_module(f"cepheid.web.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)

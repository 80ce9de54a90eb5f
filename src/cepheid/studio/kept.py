"""Where the user put what is drawn: kept in the folder, in the one hidden file that is the studio's own."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from cepheid.core.whole_file import whole_file
from cepheid.errors import UsageError, error, reason_of
from cepheid.studio.folder import LARGEST, Folder

_NAME = ".cepheid/studio.json"


def read_kept(folder: Folder) -> dict[str, object]:
    """Empty where nothing was kept yet; UsageError where it is not what the studio wrote."""
    path = _path(folder)
    try:
        if not path.exists():
            return {}
        if not path.is_file() or path.stat().st_size > LARGEST:
            raise ValueError
        found = json.loads(path.read_bytes())
        if not isinstance(found, dict):
            raise ValueError
        return found
    except (OSError, ValueError, RecursionError):
        fact = f"'{_NAME}' is not what the studio wrote"
        raise UsageError(error("bad-file", fact, hint="remove it")) from None


def write_kept(folder: Folder, kept: Mapping[str, object]) -> None:
    """UsageError where it would be more than is read again."""
    path = _path(folder)
    text = json.dumps(kept, indent=1, sort_keys=True)
    if len(text) >= LARGEST:
        raise UsageError(error("usage", "these are more places than are kept"))
    try:
        path.parent.mkdir(exist_ok=True)
        with whole_file(path) as draft:
            draft.write_text(f"{text}\n", encoding="utf-8")
    except OSError as problem:
        fact = f"cannot write '{_NAME}': {reason_of(problem)}"
        raise UsageError(error("bad-file", fact)) from None


def _path(folder: Folder) -> Path:
    """UsageError where links lead elsewhere."""
    path = os.path.join(folder.root, *_NAME.split("/"))
    if os.path.realpath(path) != path:
        raise UsageError(error("bad-file", f"'{_NAME}' is a link to elsewhere"))
    return Path(path)

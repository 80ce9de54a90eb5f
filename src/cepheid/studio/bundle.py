"""The page as it is shipped: an HTML file, scripts and a style sheet, made of `page` by `make studio`.

Each script begins with the digest of what it was made of, so that a test without Node can tell whether it
is that of the sources. `blocks.js` is only loaded when blocks are shown.
"""

from __future__ import annotations

import hashlib
from importlib.resources import files
from pathlib import Path
from string import Template

SOURCES = Path(__file__).parent / "page"
_MARK = "/* sources: "
TYPES = {
    "studio.js": "text/javascript; charset=utf-8",
    "blocks.js": "text/javascript; charset=utf-8",
    "studio.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
}


def read(name: str) -> str:
    return (files("cepheid.studio") / "bundle" / name).read_text(encoding="utf-8")


def page(token: str, nonce: str) -> str:
    """The HTML, which names the token in the addresses of what belongs to it."""
    return Template(read("index.html")).substitute(token=token, nonce=nonce)


def digest_of_sources(folder: Path = SOURCES) -> str:
    """Of all files but what npm installs; `build.mjs` computes the same."""
    names = sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and "node_modules" not in path.relative_to(folder).parts
    )
    digest = hashlib.sha256()
    for name in names:
        content = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        digest.update(f"{name}\n{content}\n".encode())
    return digest.hexdigest()


def digest_in_bundle(name: str = "studio.js") -> str:
    """That of the sources of which a script was made."""
    first = read(name).partition("\n")[0]
    return first.removeprefix(_MARK).removesuffix(" */")

"""Pages of the documentation as data: their code blocks, their links, and how to rewrite a block.

The info string of a fence says what its block is:

    epl, vepl, bicepl    a program that must check without errors
    epl fails CODE...    a program that is wrong on purpose, with the codes of what is wrong
    python               code; the blocks of a page share their names
    output               what the python block before it prints
    console              `$ command` lines, each with what the command prints
    sh                   `make` targets, which must exist
    text                 a drawing; nothing to check
    oxpath               a wrapper that must check without errors
    ... file=NAME        any of epl, vepl, bicepl, vql, oxpath, html, json, csv, events, toml: also put into the working folder
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
KINDS = (
    *("epl", "vepl", "bicepl", "vql", "python", "output", "console", "sh"),
    *("oxpath", "html", "text", "json", "csv", "events", "toml", "xml"),
)

_FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_IMAGE = re.compile(r'(?:src|srcset|href)="([^"]+)"')
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    page: Path
    line: int
    info: str
    body: str

    @property
    def kind(self) -> str:
        return self.info.split(" ")[0]

    @property
    def words(self) -> list[str]:
        return [word for word in self.info.split(" ")[1:] if "=" not in word]

    @property
    def file(self) -> str | None:
        found = re.search(r"\bfile=(\S+)", self.info)
        return found[1] if found else None

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(page, text.count("\n", 0, match.start()) + 1, match[1], match[2])
        for match in _FENCE.finditer(text)
    ]


def rewrite_blocks(page: Path, bodies: list[str]) -> None:
    """Puts new bodies into the blocks of a page, in their order."""
    rest = iter(bodies)
    text = page.read_text(encoding="utf-8")
    page.write_text(
        _FENCE.sub(lambda match: f"```{match[1]}\n{next(rest)}```", text), encoding="utf-8"
    )


def prose(page: Path) -> str:
    """The page without its code."""
    return re.sub(r"`[^`\n]+`", "", _FENCE.sub("", page.read_text(encoding="utf-8")))


def links(page: Path) -> list[str]:
    text = prose(page)
    return [*_LINK.findall(text), *_IMAGE.findall(text)]


def anchors(page: Path) -> set[str]:
    """The names under which the headings of a page can be linked to."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in _HEADING.findall(text))
    return {name.strip().replace(" ", "-") for name in kept}


def tables(page: Path, heading: str) -> list[list[str]]:
    """The rows of the tables under a heading, cell by cell, without their headers."""
    text = page.read_text(encoding="utf-8")
    section = re.split(r"^#", text.partition(f"# {heading}\n")[2], maxsplit=1, flags=re.MULTILINE)
    rows: list[list[str]] = []
    for line in section[0].splitlines():
        if re.match(r"\|[-|: ]+$", line):
            rows.pop()
        elif line.startswith("|"):
            cells = re.split(r"(?<!\\)\|", line.strip("|"))
            rows.append([cell.strip().replace("\\|", "|") for cell in cells])
    return rows


def rewrite_table(page: Path, heading: str, rows: list[list[str]]) -> None:
    """Puts other rows into the first table under a heading."""
    text = page.read_text(encoding="utf-8")
    head, mark, rest = text.partition(f"# {heading}\n")
    lines = "".join(f"| {' | '.join(cells)} |\n" for cells in rows)
    table = re.compile(r"(^\|[-|: ]+\n)(?:^\|.*\n)*", re.MULTILINE)
    page.write_text(
        head + mark + table.sub(lambda found: found[1] + lines, rest, count=1), encoding="utf-8"
    )

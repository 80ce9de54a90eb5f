"""`cepheid web`: wrappers on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run

WRAPPER = (
    "//tr[position() > 1]:<Flight>\n    [./td[1]:<from=string(.)>]\n    [./td[2]:<no=number(.)>]\n"
)
PAGE = (
    "<table><tr><th>From</th></tr><tr><td>New York\x1b[31m</td><td>112</td></tr>"
    "<tr><td>Rome</td><td>200</td></tr><tr><td>Oslo</td></tr></table>"
)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("w.oxpath").write_text(WRAPPER)
    Path("p.html").write_text(PAGE)


def test_records_are_written_as_lines_and_what_is_left_out_is_told(cepheid: Run) -> None:
    ran = cepheid("web", "extract", "w.oxpath", "p.html", "--no-browser")
    assert ran.code == 0
    assert [row["no"] for row in ran.rows] == [112, 200]
    assert ran.rows[0]["@type"] == "Flight"
    assert "row-left-out" in ran.err
    assert cepheid("web", "extract", "w.oxpath", "p.html", "--no-browser", "--out", "o").out == ""
    assert Path("o").read_text() == ran.out


def test_what_a_page_says_does_not_rule_the_terminal(cepheid: Run) -> None:
    for command in ("try", "extract"):
        assert "\x1b" not in cepheid("web", command, "w.oxpath", "p.html", "--no-browser").out


def test_tables_show_records_and_how_far_each_step_got(cepheid: Run) -> None:
    ran = cepheid("web", "try", "w.oxpath", "p.html", "--no-browser")
    assert "Flight (2 records)" in ran.out
    lines = ran.out.splitlines()
    assert lines[-1].split() == [*["//tr[position()", ">", "1]:<Flight>"], "1", "2"]


def test_a_wrapper_that_finds_nothing_says_where(cepheid: Run) -> None:
    Path("p.html").write_text("<p>no flights today</p>")
    ran = cepheid("web", "extract", "w.oxpath", "p.html", "--no-browser")
    assert (ran.code, ran.out) == (1, "")
    assert "//tr[position() > 1]:<Flight> found nothing on file://" in ran.err.replace("\n", "")


def test_a_check_finds_mistakes_and_what_a_class_lacks(cepheid: Run) -> None:
    ran = cepheid("web", "check", "w.oxpath")
    assert (ran.code, ran.out) == (0, "no findings in w.oxpath\n")
    Path("p.epl").write_text("create schema Flight (form string, no int);\n")
    ran = cepheid("web", "check", "w.oxpath", "--program", "p.epl", "--json")
    assert ran.code == 1
    assert [(each["code"], each["line"]) for each in ran.data] == [("unknown-attribute", 2)]
    Path("w.oxpath").write_text("//a[$x]:<R>/{klick}")
    ran = cepheid("web", "check", "w.oxpath")
    assert "did you mean 'click'?" in ran.out
    Path("w.oxpath").write_text("//a[$x]:<R>")
    assert "needs $x" in cepheid("web", "check", "w.oxpath").out
    assert cepheid("web", "check", "w.oxpath", "--var", "y=1").code == 1


def test_a_wrapper_is_laid_out_in_place(cepheid: Run) -> None:
    Path("w.oxpath").write_text(" ".join(WRAPPER.split()))
    assert cepheid("web", "format", "--check", "w.oxpath").code == 1
    assert cepheid("web", "format", "w.oxpath").err == "formatted w.oxpath\n"
    assert Path("w.oxpath").read_text() == WRAPPER
    assert cepheid("web", "format", "--check", "w.oxpath").code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["extract", "none.oxpath", "p.html"], "no file 'none.oxpath'"),
        (["extract", "w.oxpath"], "nothing says on which page to start"),
        (["extract", "w.oxpath", "none.html", "--no-browser"], "no file"),
        (["extract", "w.oxpath", "p.html", "--var", "x"], "gives no variable a value"),
        (["extract", "w.oxpath", "ftp://x/y", "--no-browser"], "no address of a page"),
        (["extract", "w.oxpath", "p.html", "--chromium", "cromium"], "no program 'cromium'"),
    ],
)
def test_a_wrong_call_is_refused_in_words(cepheid: Run, arguments: list[str], said: str) -> None:
    ran = cepheid("web", *arguments)
    assert ran.code != 0
    assert said in ran.err.replace("\n", "")

"""Metamodels and models in files."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.errors import CepheidError
from cepheid.live import Model, Object, load_metamodel, load_model, save_model
from tests.effort import examples
from tests.live.worlds import change_model, metamodel

pytest.importorskip("pyecore")

FILES = Path(__file__).parent / "files"


def seen(model: Model) -> list[dict[str, str]]:
    """All that a model says, without identities."""
    objects = [part for root in model.roots() for part in with_parts(root)]
    names = {one: f"#{n}" for n, one in enumerate(objects)}

    def shown(value: object) -> str:
        if isinstance(value, tuple):
            return str([shown(v) for v in value])
        return names[value] if isinstance(value, Object) else repr(value)

    return [{"": one.type, **{f: shown(one[f]) for f in one.kind.features}} for one in objects]


def with_parts(one: Object) -> Iterator[Object]:
    """Containers first, features in their order."""
    yield one
    for feature in one.kind.features.values():
        held = one[feature.name]
        for part in held if isinstance(held, tuple) else (held,):
            if feature.is_containment and isinstance(part, Object):
                yield from with_parts(part)


def test_a_metamodel_is_read() -> None:
    found = load_metamodel(FILES / "cps.ecore")
    assert (found.name, found.uri) == ("cps", "http://example.org/cps")
    host = found.schema.kinds["Host"]
    assert list(host.features) == [
        *("id", "availableCpu", "totalCpu", "load", "runs", "communicatesWith")
    ]
    assert (
        host.features["runs"].opposite is found.schema.kinds["Application"].features["allocatedTo"]
    )
    assert found.schema.kinds["Application"].features["state"].literals == ("stopped", "running")


def test_a_model_is_read() -> None:
    found = load_model(FILES / "plant.xmi", load_metamodel(FILES / "cps.ecore"))
    system, one, other, app, idle = found.objects()
    assert system["hosts"] == (one, other)
    assert (one["availableCpu"], one["totalCpu"], other["totalCpu"], other["load"]) == (
        10,
        8,
        8,
        0.0,
    )
    assert (one["communicatesWith"], one["runs"]) == ((other,), (app,))
    assert (app["allocatedTo"], app["state"], app["tags"]) == (one, "running", ("red", "blue"))
    assert (idle["state"], idle["allocatedTo"]) == ("stopped", None)


def test_a_model_that_is_saved_reads_back(tmp_path: Path) -> None:
    metamodel = load_metamodel(FILES / "cps.ecore")
    model = load_model(FILES / "plant.xmi", metamodel)
    with model.transaction() as change:
        change.add(next(model.objects("Application")), "tags", "two words")
    save_model(model, tmp_path / "out.xmi")
    assert seen(load_model(tmp_path / "out.xmi", metamodel)) == seen(model)


@examples(40)
@given(st.integers(0, 10**9).map(Random))
def test_any_model_that_is_saved_reads_back(
    tmp_path_factory: pytest.TempPathFactory, rng: Random
) -> None:
    model = Model(metamodel(rng, with_defaults=False))
    for _ in range(4):
        change_model(rng, model, 8)
    file = tmp_path_factory.mktemp("models") / "m.xmi"
    save_model(model, file)
    assert seen(load_model(file, model.metamodel)) == seen(model)


# What is replaced by what; then code, line, and what is said.
WRONG_MODELS = {
    ("cps:System", "cps:Sytem"): ("unknown-class", 2, "did you mean 'System'?"),
    ("org/cps", "org/cpss"): ("bad-model", 2, "did you mean 'http://example.org/cps'?"),
    ("System", "Named"): ("bad-model", 2, "'Named' is abstract and has no objects"),
    ('availableCpu="10"', 'availablCpu="10"'): (
        *("unknown-feature", 3, "did you mean 'availableCpu'?"),
    ),
    ('id="plant"', 'id="plant" owner="me"'): ("unknown-feature", 2, "no feature 'owner' in System"),
    ('<applications id="a2"', '<aplications id="a2"'): (
        *("unknown-feature", 9, "did you mean 'applications'?"),
    ),
    ('"10"', '"ten"'): ("bad-value", 3, "'ten' is no value of 'availableCpu' (its type is int)"),
    ('"0.5"', '"x"'): ("bad-value", 3, "'x' is no value of 'load' (its type is double)"),
    ('availableCpu="2"', 'availableCpu="2.5"'): ("bad-value", 4, "'2.5' is no value"),
    ('availableCpu="2"', 'availableCpu="99999999999"'): (
        "bad-value",
        4,
        "'99999999999' is no value",
    ),
    ('"running"', '"runing"'): ("bad-value", 5, "cannot be 'runing' (did you mean 'running'?)"),
    ("//@hosts.1", "//@hosts.7"): (
        "unknown-object",
        3,
        "an object that is not there: '//@hosts.7'",
    ),
    ("//@hosts.1", f"//@hosts.{'9' * 5000}"): ("unknown-object", 3, "an object that is not there"),
    ("//@hosts.1", f"/{'9' * 5000}"): ("unknown-object", 3, "an object that is not there"),
    ('availableCpu="2"', 'availableCpu="1_0"'): ("bad-value", 4, "'1_0' is no value"),
    ("//@hosts.1", "//@hots.1"): ("unknown-object", 3, "an object that is not there"),
    ("//@hosts.1", "h2"): ("unknown-object", 3, "an object that is not there: 'h2'"),
    ("//@hosts.1", "other.xmi#//@hosts.1"): ("unknown-object", 3, "an object outside the file"),
    ("//@applications.0", "//@hosts.0"): (
        *("bad-model", 3, "'runs' leads to Application objects, not to Host objects"),
    ),
    ('id="h2"', 'id="h2" runs="//@applications.0"'): (
        *("bad-model", 4, "'runs' refers to an object whose 'allocatedTo' does not refer back"),
    ),
    ('allocatedTo="//@hosts.0"', 'allocatedTo="//@hosts.0 //@hosts.1"'): (
        *("bad-model", 5, "'allocatedTo' has 2 values, and takes one"),
    ),
    ('<hosts id="h2"', '<hosts xsi:type="cps:Application" id="h2"'): (
        *("bad-model", 4, "'hosts' contains Host objects, not Application objects"),
    ),
    ('<hosts id="h2"', '<hosts xsi:type="cp:Host" id="h2"'): (
        *("bad-model", 4, "nothing says what the prefix 'cp' of 'cp:Host' stands for"),
    ),
    ('id="plant"', 'id="plant" hosts="a"'): ("bad-model", 2, "'hosts' contains objects, no text"),
    ("<tags>red</tags>", "<allocatedTo/>"): ("bad-model", 6, "'allocatedTo' contains nothing"),
    (' id="a2"', ""): ("bad-model", 9, "'id' of Application#5 has 0 of 1..1 values"),
    ("</cps:System>", ""): ("bad-model", 11, "this is no XML: Premature end of data"),
    ("<hosts", "<hosts <"): ("bad-model", 3, "this is no XML"),
}


@pytest.mark.parametrize("edit", WRONG_MODELS, ids=lambda edit: edit[1][:40])
def test_a_broken_model_is_one_clear_error(edit: tuple[str, str], tmp_path: Path) -> None:
    text = (FILES / "plant.xmi").read_text()
    text = text.replace("xmlns:cps", f'xmlns:xsi="{XSI}" xmlns:cps', 1)
    assert edit[0] in text
    file = tmp_path / "broken.xmi"
    file.write_text(text.replace(*edit, 2 if "System" in edit[0] else 1))  # with its end
    with pytest.raises(CepheidError) as raised:
        load_model(file, load_metamodel(FILES / "cps.ecore"))
    [problem] = raised.value.diagnostics
    code, line, said = WRONG_MODELS[edit]
    assert (problem.code, problem.span and (problem.span.file, problem.span.line)) == (
        *(code, (str(file), line)),
    )
    assert said in str(problem)
    assert problem.hint


XSI = "http://www.w3.org/2001/XMLSchema-instance"


def test_all_that_is_wrong_with_a_model_is_reported_at_once(tmp_path: Path) -> None:
    text = (FILES / "plant.xmi").read_text()
    for edit in (('"10"', '"ten"'), ('"running"', '"runing"'), ('id="a2"', 'idd="a2"')):
        text = text.replace(*edit)
    file = tmp_path / "broken.xmi"
    file.write_text(text)
    with pytest.raises(CepheidError) as raised:
        load_model(file, load_metamodel(FILES / "cps.ecore"))
    found = [(d.code, d.span and d.span.line) for d in raised.value.diagnostics]
    assert found == [("bad-value", 3), ("bad-value", 5), ("unknown-feature", 9)]


OTHER_FORMS = {
    "comments": ("<hosts id", "<!-- a comment --><hosts id"),
    "a list of roots": ("", ""),
    "xmi:id": ('<hosts id="h2"', '<hosts xmi:id="_2" id="h2"'),
    "hash": ("//@hosts.1", "#//@hosts.1"),
    "href": (' communicatesWith="//@hosts.1"/>', '><communicatesWith href="#//@hosts.1"/></hosts>'),
    "tags in a row": ("<tags>red</tags>\n    <tags>blue</tags>", ""),
    "nothing": ('<hosts id="h2" availableCpu="2"/>', '<hosts id="h2" availableCpu="2"><load xsi:nil="true"/></hosts>'),
}  # fmt: skip


@pytest.mark.parametrize("form", OTHER_FORMS)
def test_other_ways_to_write_a_model_are_read(form: str, tmp_path: Path) -> None:
    text = (FILES / "plant.xmi").read_text()
    assert OTHER_FORMS[form][0] in text
    text = text.replace(*OTHER_FORMS[form])
    if form == "xmi:id":
        text = text.replace("//@hosts.1", "_2")
    if form == "tags in a row":
        text = text.replace('state="running"', 'state="running" tags="red blue"')
    if form == "a list of roots":
        head, _, rest = text.partition("<cps:System")
        text = f'{head}<xmi:XMI xmlns:xmi="http://www.omg.org/XMI"><cps:System{rest}</xmi:XMI>'
        text = text.replace("//@", "/0/@")
    text = text.replace("xmlns:cps", f'xmlns:xsi="{XSI}" xmlns:cps', 1)
    file = tmp_path / "other.xmi"
    file.write_text(text)
    metamodel = load_metamodel(FILES / "cps.ecore")
    assert seen(load_model(file, metamodel)) == seen(load_model(FILES / "plant.xmi", metamodel))


# What is replaced by what; then code, line, and what is said.
WRONG_METAMODELS = {
    ("#//EDouble", "#//EDuble"): ("bad-metamodel", 18, "'Host.load' has a type that is not there"),
    ("#//EDouble", "#//EDate"): (
        *("unsupported", 18, "'Host.load' has values of type 'EDate' (Cepheid has enumerations and"),
    ),
    ("#//EDouble", "#//EJavaObject"): ("unsupported", 18, "of type 'EJavaObject'"),
    ('eType="ecore:EDataType http://www.eclipse.org/emf/2002/Ecore#//EDouble"', ""): (
        *("bad-metamodel", 18, "'Host.load' has a type that is not there"),
    ),
    ('eSuperTypes="#//Named"', 'eSuperTypes="#//Nmed"'): (
        *("bad-model", 11, "this is not an .ecore file: EObject for #//Nmed is unknown"),
    ),
    ('eType="#//Application"', 'eType="#//Aplication"'): (
        *("bad-model", 13, "this is not an .ecore file: EObject for #//Aplication is unknown"),
    ),
    ('eType="#//Host"', 'eType="ecore:EClass http://www.eclipse.org/emf/2002/Ecore#//EObject"'): (
        *("unsupported", 12, "'System.hosts' needs the class 'EObject', which is not in the file"),
    ),
    ("</ecore:EPackage>", ""): ("bad-model", 28, "this is no XML: Premature end of data"),
    ('defaultValueLiteral="8"', 'defaultValueLiteral="x"'): (
        *("bad-metamodel", 17, "'Host.totalCpu' has the default 'x', which is no int"),
    ),
    ("eStructuralFeatures xsi:type", "eFeatures xsi:type"): ("bad-model", 5, '"eFeatures" is unknown'),
    ('defaultValueLiteral="stopped"', 'defaultValueLiteral="stoped"'): (
        *("bad-metamodel", None, "'Application.state' cannot have the default 'stoped'"),
    ),
    ('name="load"', 'name="id"'): ("bad-metamodel", None, "'Host' has 'id' from 'Named' and"),
    ('lowerBound="1"', 'lowerBound="2"'): ("bad-metamodel", None, "impossible bounds: 2..1"),
}  # fmt: skip


@pytest.mark.parametrize("edit", WRONG_METAMODELS, ids=lambda edit: edit[1])
def test_a_broken_metamodel_is_one_clear_error(edit: tuple[str, str], tmp_path: Path) -> None:
    text = (FILES / "cps.ecore").read_text()
    assert edit[0] in text
    file = tmp_path / "broken.ecore"
    file.write_text(text.replace(*edit, 1))
    with pytest.raises(CepheidError) as raised:
        load_metamodel(file)
    [problem] = raised.value.diagnostics
    code, line, said = WRONG_METAMODELS[edit]
    assert (problem.code, problem.span.line if problem.span else None) == (code, line)
    assert str(file) in str(problem)
    assert said in str(problem)


def test_a_file_that_is_no_metamodel_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CepheidError, match="bad-model"):
        load_metamodel(FILES / "plant.xmi")
    file = tmp_path / "empty.ecore"
    file.write_text("")
    with pytest.raises(CepheidError, match=r"empty\.ecore:1:1: .*this is no XML"):
        load_metamodel(file)
    with pytest.raises(CepheidError, match="bad-file"):
        load_metamodel(tmp_path)


@examples(60)
@given(st.data())
def test_no_damage_to_a_file_is_a_traceback(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(("plant.xmi", "cps.ecore")))
    text = (FILES / name).read_text()
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 40)))
    broken = text[:start] + data.draw(st.sampled_from(("", "x", '"', "<", "7", " "))) + text[end:]
    file = tmp_path_factory.mktemp("broken") / name
    file.write_text(broken)
    assert all(str(file) in problem for problem in refusal_of(file))


def refusal_of(file: Path) -> list[str]:
    try:
        if file.suffix == ".ecore":
            load_metamodel(file)
        else:
            load_model(file, load_metamodel(FILES / "cps.ecore"))
    except CepheidError as refused:
        return [str(problem) for problem in refused.diagnostics]
    return []


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(CepheidError, match="no file"):
        load_metamodel(tmp_path / "none.ecore")
    with pytest.raises(CepheidError, match="cannot be written"):
        save_model(Model(load_metamodel(FILES / "cps.ecore")), tmp_path / "none" / "out.xmi")


def test_without_the_library_there_is_a_hint() -> None:
    code = (
        "import sys; sys.modules['pyecore'] = None\n"
        "from cepheid import live\n"
        "try: live.load_metamodel('x.ecore')\n"
        "except live.ecore.CepheidError as e: print(e)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'cepheid[live]'" in done.stdout


def test_the_library_is_loaded_only_for_files() -> None:
    code = "import cepheid.live, sys; print('pyecore' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"

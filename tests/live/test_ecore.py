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


WRONG_MODELS = {
    ("cps:System", "cps:Sytem"): "did you mean 'System'?",
    ('availableCpu="10"', 'availablCpu="10"'): "did you mean 'availableCpu'?",
    ('"10"', '"ten"'): "is not a model of cps: 'ten' is no value of 'availableCpu'",
    ('"0.5"', '"x"'): "'x' is no value of 'load'",
    ('availableCpu="2"', 'availableCpu="2.5"'): "'2.5' is no value of 'availableCpu'",
    ('"running"', '"runing"'): "cannot be 'runing' (did you mean 'running'?)",
    ("//@hosts.1", "//@hosts.7"): "is not a model of cps",
    ("//@applications.0", "//@hosts.0"): "'runs' leads to Application objects, not to Host objects",
    ("</cps:System>", ""): "is not a model of cps: Premature end of data",
    ("org/cps", "org/cpss"): "the URI of cps is 'http://example.org/cps'",
    (' id="a2"', ""): "'id' of Application#5 has 0 of 1..1 values",
    ('<applications id="a2"', '<aplications id="a2"'): "did you mean 'applications'?",
}


@pytest.mark.parametrize("edit", WRONG_MODELS, ids=lambda edit: edit[1])
def test_a_broken_model_is_one_clear_error(edit: tuple[str, str], tmp_path: Path) -> None:
    text = (FILES / "plant.xmi").read_text()
    assert edit[0] in text
    file = tmp_path / "broken.xmi"
    file.write_text(text.replace(*edit))
    with pytest.raises(CepheidError) as raised:
        load_model(file, load_metamodel(FILES / "cps.ecore"))
    [problem] = raised.value.diagnostics
    assert "broken.xmi" in problem.message
    assert WRONG_MODELS[edit] in str(problem)


WRONG_METAMODELS = {
    ("#//EDouble", "#//EDuble"): "refers to a class or type that is not there",
    ("#//EDouble", "#//EDate"): "has 'load' of type EDate; known are EBigDecimal",
    ('eSuperTypes="#//Named"', 'eSuperTypes="#//Nmed"'): "is not an .ecore file",
    ("</ecore:EPackage>", ""): "is not an .ecore file: Premature end of data",
    (
        'defaultValueLiteral="8"',
        'defaultValueLiteral="x"',
    ): "has 'x' as default of 'totalCpu': no EInt",
    ('name="load"', 'name="id"'): "'Host' has 'id' from 'Named' and from 'Host'",
}


@pytest.mark.parametrize("edit", WRONG_METAMODELS, ids=lambda edit: edit[1])
def test_a_broken_metamodel_is_one_clear_error(edit: tuple[str, str], tmp_path: Path) -> None:
    text = (FILES / "cps.ecore").read_text()
    assert edit[0] in text
    file = tmp_path / "broken.ecore"
    file.write_text(text.replace(*edit))
    with pytest.raises(CepheidError) as raised:
        load_metamodel(file)
    assert "broken.ecore" in str(raised.value)
    assert WRONG_METAMODELS[edit] in str(raised.value)


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

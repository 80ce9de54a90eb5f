"""Metamodels of several packages, in files that pyecore writes, and models of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cepheid.errors import CepheidError
from cepheid.live import (
    Class,
    Matcher,
    Metamodel,
    Model,
    Package,
    Reference,
    load_metamodel,
    load_model,
    parse_queries,
    save_model,
)
from tests.live.test_ecore import seen

pyecore = pytest.importorskip("pyecore")


def plant_packages() -> Any:
    """`plant`, in it `electrical` and `fluid`, each with a class Port, and `supply` in the first."""
    from pyecore import ecore

    packages = {
        name: ecore.EPackage(name, f"http://example.org/{name}", name)
        for name in ("plant", "electrical", "fluid", "supply")
    }
    packages["plant"].eSubpackages.extend([packages["electrical"], packages["fluid"]])
    packages["electrical"].eSubpackages.append(packages["supply"])
    part = ecore.EClass("Part", abstract=True)
    part.eStructuralFeatures.append(ecore.EAttribute("id", ecore.EString))
    wire, pipe = ecore.EClass("Port", superclass=(part,)), ecore.EClass("Port", superclass=(part,))
    kind = ecore.EEnum("Phase", literals=("one", "three"))
    wire.eStructuralFeatures.append(ecore.EAttribute("phase", kind))
    pump = ecore.EClass("Pump", superclass=(part,))
    battery = ecore.EClass("Battery", superclass=(wire,))
    plant = ecore.EClass("Plant")
    plant.eStructuralFeatures.append(ecore.EReference("parts", part, upper=-1, containment=True))
    power = ecore.EReference("power", wire)
    inlets = ecore.EReference("inlets", pipe, upper=-1)
    pump.eStructuralFeatures.extend([power, inlets])
    wire.eStructuralFeatures.append(ecore.EReference("feeds", pump, upper=-1))
    packages["plant"].eClassifiers.extend([part, plant, pump])
    packages["electrical"].eClassifiers.extend([wire, kind])
    packages["fluid"].eClassifiers.append(pipe)
    packages["supply"].eClassifiers.append(battery)
    return packages["plant"]


def written(folder: Path, *roots: Any, name: str = "plant.ecore") -> Path:
    from pyecore.resources import URI, ResourceSet

    file = folder / name
    resource = ResourceSet().create_resource(URI(str(file)))
    resource.extend(roots)
    resource.save()
    return file


@pytest.fixture
def plant(tmp_path: Path) -> Metamodel:
    file = written(tmp_path, plant_packages())
    text = file.read_text()  # which has no opposites: pyecore does not write them
    text = text.replace('name="power"', 'name="power" eOpposite="#//electrical/Port/feeds"')
    file.write_text(text.replace('name="feeds"', 'name="feeds" eOpposite="#//Pump/power"'))
    return load_metamodel(file)


def test_classes_of_inner_packages_have_their_names_or_where_these_clash_their_paths(
    plant: Metamodel,
) -> None:
    assert [c.name for c in plant.classes] == [
        *("Part", "Plant", "Pump", "electrical.Port", "Battery", "fluid.Port"),
    ]
    assert [c.package for c in plant.classes] == [
        *("", "", "", "electrical", "electrical.supply", "fluid"),
    ]
    assert plant.packages == (
        Package("electrical", "http://example.org/electrical"),
        Package("electrical.supply", "http://example.org/supply"),
        Package("fluid", "http://example.org/fluid"),
    )


def test_references_and_ancestors_go_from_package_to_package(plant: Metamodel) -> None:
    kinds = plant.schema.kinds
    assert kinds["Battery"].ancestors == {"Battery", "electrical.Port", "Part"}
    assert kinds["Pump"].features["inlets"].target == "fluid.Port"
    assert kinds["Pump"].features["power"].opposite is kinds["electrical.Port"].features["feeds"]
    assert kinds["Battery"].features["phase"].literals == ("one", "three")


MODEL = """<?xml version="1.0" encoding="UTF-8"?>
<plant:Plant xmi:version="2.0" xmlns:xmi="http://www.omg.org/XMI" xmlns:plant="http://example.org/plant"
    xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:e="http://example.org/electrical"
    xmlns:fluid="http://example.org/fluid" xmlns:supply="http://example.org/supply">
  <parts xsi:type="plant:Pump" id="p" power="//@parts.1" inlets="//@parts.2"/>
  <parts xsi:type="supply:Battery" id="b" phase="three" feeds="//@parts.0"/>
  <parts xsi:type="fluid:Port" id="f"/>
  <parts xsi:type="e:Port" id="e"/>
</plant:Plant>
"""


def model_of(folder: Path, metamodel: Metamodel, text: str = MODEL) -> Model:
    file = folder / "plant.xmi"
    file.write_text(text)
    return load_model(file, metamodel)


def test_a_model_has_objects_of_several_namespaces(tmp_path: Path, plant: Metamodel) -> None:
    model = model_of(tmp_path, plant)
    assert [one.type for one in model.objects()] == [
        *("Plant", "Pump", "Battery", "fluid.Port", "electrical.Port"),
    ]
    _, pump, battery, port, _ = model.objects()
    assert (pump["power"], pump["inlets"], battery["phase"]) == (battery, (port,), "three")


def test_a_model_of_several_namespaces_that_is_saved_reads_back(
    tmp_path: Path, plant: Metamodel
) -> None:
    model = model_of(tmp_path, plant)
    save_model(model, tmp_path / "out.xmi")
    assert seen(load_model(tmp_path / "out.xmi", plant)) == seen(model)


def test_pyecore_and_cepheid_read_each_others_models(tmp_path: Path, plant: Metamodel) -> None:
    from pyecore.resources import URI, ResourceSet

    resources = ResourceSet()
    root = resources.get_resource(URI(str(tmp_path / "plant.ecore"))).contents[0]
    for package in (root, *root.eSubpackages, *root.eSubpackages[0].eSubpackages):
        resources.metamodel_registry[package.nsURI] = package
    save_model(model_of(tmp_path, plant), tmp_path / "ours.xmi")
    theirs = resources.get_resource(URI(str(tmp_path / "ours.xmi"))).contents[0]
    assert [part.id for part in theirs.parts] == ["p", "b", "f", "e"]
    assert theirs.parts[0].power is theirs.parts[1]
    again = written(tmp_path, theirs, name="theirs.xmi")
    assert seen(load_model(again, plant)) == seen(model_of(tmp_path, plant))


def test_queries_name_a_class_by_its_path_in_backquotes(tmp_path: Path, plant: Metamodel) -> None:
    text = "pattern wet(p) { `fluid.Port`(p); } pattern dry(p) { `electrical.Port`.id(p, _); }"
    matcher = Matcher(model_of(tmp_path, plant), parse_queries(text, plant))
    wet, dry = ([str(m) for m in matcher.matches(name)] for name in ("wet", "dry"))
    assert (wet, dry) == (
        ["wet(fluid.Port#4)"],
        ["dry(Battery#3)", "dry(electrical.Port#5)"],
    )
    with pytest.raises(
        CepheidError, match=r"in several packages: `electrical\.Port`, `fluid\.Port`"
    ):
        parse_queries("pattern p(x) { Port(x); }", plant)


WRONG = {
    ("e:Port", "e:Prt"): ("unknown-class", 8, "no class 'Prt' in plant (did you mean 'Port'?)"),
    ("fluid:Port", "plant:Port"): ("unknown-class", 7, "no class 'Port' in plant"),
    ("org/fluid", "org/fluids"): ("bad-model", 7, "plant has no URI 'http://example.org/fluids'"),
    ("//@parts.2", "//@parts.3"): (
        *("bad-model", 5, "'inlets' leads to fluid.Port objects, not to electrical.Port objects"),
    ),
    (' xsi:type="e:Port"', ""): ("bad-model", 8, "'Part' is abstract and has no objects"),
}


@pytest.mark.parametrize("edit", WRONG, ids=lambda edit: edit[1])
def test_a_wrong_model_is_refused_with_its_place(
    edit: tuple[str, str], tmp_path: Path, plant: Metamodel
) -> None:
    assert edit[0] in MODEL
    with pytest.raises(CepheidError) as raised:
        model_of(tmp_path, plant, MODEL.replace(*edit))
    [problem] = raised.value.diagnostics
    code, line, said = WRONG[edit]
    assert (problem.code, problem.span and problem.span.line) == (code, line)
    assert said in str(problem)


def test_a_class_of_another_file_is_named(tmp_path: Path) -> None:
    from pyecore import ecore

    other = ecore.EPackage("other", "http://example.org/other", "other")
    base = ecore.EClass("Base")
    other.eClassifiers.append(base)
    written(tmp_path, other, name="other.ecore")
    package = ecore.EPackage("plant", "http://example.org/plant", "plant")
    package.eClassifiers.append(ecore.EClass("Part", superclass=(base,)))
    with pytest.raises(CepheidError) as raised:
        load_metamodel(written(tmp_path, package))
    [problem] = raised.value.diagnostics
    assert problem.code == "unsupported"
    assert "'Part' needs the class 'Base', which is not in the file" in problem.message


def test_a_data_type_of_a_known_java_class_is_read_and_others_are_named(tmp_path: Path) -> None:
    from pyecore import ecore

    package = ecore.EPackage("plant", "http://example.org/plant", "plant")
    name = ecore.EDataType("Name", instanceClassName="java.lang.String")
    part = ecore.EClass("Part")
    part.eStructuralFeatures.append(ecore.EAttribute("name", name))
    package.eClassifiers.extend([name, part])
    found = load_metamodel(written(tmp_path, package))
    assert str(found.schema.kinds["Part"].features["name"].type) == "string"
    name.instanceClassName = "java.net.URI"
    with pytest.raises(CepheidError, match=r"'Part\.name' has values of type 'Name'"):
        load_metamodel(written(tmp_path, package))


def test_an_attribute_that_is_an_id_is_what_objects_are_referred_to_by(tmp_path: Path) -> None:
    package = plant_packages()
    package.getEClassifier("Part").findEStructuralFeature("id").iD = True
    plant = load_metamodel(written(tmp_path, package))
    model = model_of(tmp_path, plant, MODEL.replace("//@parts.1", "b").replace("//@parts.2", "f"))
    _, pump, battery, port, _ = model.objects()
    assert (pump["power"], pump["inlets"]) == (battery, (port,))


def test_packages_in_a_metamodel_are_checked() -> None:
    with pytest.raises(CepheidError) as raised:
        Metamodel(
            "m",
            (Class("A", package="x.y"), Class("B", (Reference("a", "A"),), package="z")),
            packages=(Package("x.y", "u"), Package("x", "u"), Package("x", "m")),
        )
    assert [d.message for d in raised.value.diagnostics] == [
        "package 'x.y' is in no package",
        "two packages have the URI 'u'",
        "package 'x' is declared twice",
        "two packages have the URI 'm'",
        "class 'B' is in package 'z', which is not there",
    ]

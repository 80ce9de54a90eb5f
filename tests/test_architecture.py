"""The layers of the design: imports go one way, and importing the package loads no engine."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "src" / "cepheid"

# Each layer may import itself and those before it.
LAYERS = (
    {"errors", "explanations"},
    {"core"},
    {"expr", "io"},
    {"pattern", "query", "sql"},
    {"program"},
    {"lang", "analysis", "drawing"},
    {"editing"},
    {"semantics"},
    {"matcher", "absence"},
    {"formal"},
    {"result"},
    {"engines"},
    {"simulation", "bitemporal", "actions", "debugging"},
    {"verbs", "build", "spark"},
    {"live", "pipelines", "realtime", "web"},
    {"jobs", "reports", "lsp"},
    {"studio"},
    {"cli", "__main__", "notebook"},
)
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}
# Layers that stand side by side and do not know each other.
APART = (
    {"expr", "io"},
    {"lang", "analysis"},
    {"semantics", "lang"},
    {"absence", "lang"},
    {"absence", "matcher"},
    {"matcher", "formal"},
    {"pattern", "query"},
    {"simulation", "live"},
    {"simulation", "bitemporal"},
    {"simulation", "debugging"},
    {"bitemporal", "debugging"},
    {"actions", "debugging"},
    {"bitemporal", "realtime"},
    {"simulation", "realtime"},
    {"live", "pipelines"},
    {"live", "realtime"},
    {"pipelines", "realtime"},
    {"live", "web"},
    {"pipelines", "web"},
    {"realtime", "web"},
    {"jobs", "reports"},
)


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(ROOT.rglob("*.py")):
        layer = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if layer != "__init__":
            yield layer, path


@cache
def imported_names(path: Path) -> tuple[str, ...]:
    return tuple(_imported_names(ast.parse(path.read_text())))


def _imported_names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imported_layers(path: Path) -> Iterator[str]:
    for name in imported_names(path):
        package, _, rest = name.partition(".")
        if package == "cepheid" and rest and rest != "__version__":
            yield rest.split(".")[0]


def imported_packages(path: Path) -> set[str]:
    return {name.partition(".")[0] for name in imported_names(path)}


@pytest.mark.parametrize("layer", sorted(RANK))
def test_a_layer_imports_only_what_lies_below_it(layer: str) -> None:
    for name, path in modules():
        if name != layer:
            continue
        for other in imported_layers(path):
            assert other in RANK, f"{path}: {other} has no place among the layers"
            assert RANK[other] <= RANK[layer], f"{path} imports {other}"
            assert other == layer or not any({layer, other} <= pair for pair in APART), path


def test_every_module_belongs_to_a_layer() -> None:
    assert {layer for layer, _ in modules()} <= set(RANK)


def test_languages_do_not_import_each_other() -> None:
    folders = {path.parent.name for path in (ROOT / "lang").glob("*/__init__.py")}
    languages = folders - {"common"}
    assert languages
    for language in folders:
        for path in (ROOT / "lang" / language).rglob("*.py"):
            text = path.read_text()
            assert not any(f"cepheid.lang.{o}" in text for o in languages - {language}), path


ENGINES = {path.name for path in (ROOT / "engines").iterdir() if (path / "engine.py").exists()}


def test_engines_do_not_import_each_other() -> None:
    for engine in ENGINES:
        others = tuple(f"cepheid.engines.{other}." for other in ENGINES - {engine})
        for path in (ROOT / "engines" / engine).rglob("*.py"):
            assert not [n for n in imported_names(path) if f"{n}.".startswith(others)], path


def test_what_engines_share_knows_none_of_them() -> None:
    own = tuple(f"cepheid.engines.{engine}." for engine in ENGINES)
    for path in (ROOT / "engines" / "common").rglob("*.py"):
        assert not [n for n in imported_names(path) if f"{n}.".startswith(own)], path


def test_every_engine_is_in_the_registry_and_has_the_same_entry_points() -> None:
    from cepheid.engines.registry import ENGINES as KNOWN
    from cepheid.engines.registry import Offer

    assert set(KNOWN) == ENGINES
    for name, engine in KNOWN.items():
        tree = ast.parse((ROOT / "engines" / name / "engine.py").read_text())
        bound = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        bound |= {
            target.id
            for node in tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        assert {"gaps", "run"} <= bound, name
        assert ("open_runner" in bound) == (Offer.SESSION in engine.offers), name


def loaded_after(statement: str) -> set[str]:
    code = f"{statement}; import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_loads_no_engine_and_no_library() -> None:
    loaded = loaded_after("import cepheid")
    assert not any(name.startswith(("cepheid.engines", "cepheid.semantics")) for name in loaded)
    assert not loaded & {"pyarrow", "pandas", "numpy", "pyspark", "re2", "rich", "sqlglot", "typer"}


def test_the_verbs_load_no_heavy_library() -> None:
    loaded = loaded_after("import cepheid as cep; cep.run")
    assert not loaded & {
        "pyarrow",
        "pandas",
        "numpy",
        "pyspark",
        "re2",
        "rich",
        "typer",
        "z3",
        "scipy",
        "sqlglot",
    }


# The drivers by which systems run on Spark.
_DRIVERS = ("batch.py", "detect.py", "frames.py", "results.py", "stepwise.py", "stream.py")
SPARK_DRIVERS = {ROOT / "bitemporal" / "spark" / name for name in _DRIVERS}
SPARK_DRIVERS |= {ROOT / "realtime" / "spark" / f"{n}.py" for n in ("batch", "frames", "stream")}
SPARK_DRIVERS |= {ROOT / "verbs" / "detection.py"}  # whose types are Spark's


def test_only_the_spark_engine_and_drivers_know_pyspark() -> None:
    for path in sorted(ROOT.rglob("*.py")):
        if (ROOT / "engines" / "spark") not in path.parents and path not in SPARK_DRIVERS:
            assert not imported_packages(path) & {"pyspark", "py4j"}, path


# Rooms of the Spark engine, and the rooms that they do not know.
ROOMS = {
    "plan": {"batch", "stream", "endpoints"},
    "codec": {"batch", "stream", "endpoints", "shuffle"},
    "shuffle": {"batch", "stream", "endpoints"},
    "batch": {"stream", "endpoints"},
    "stream": {"batch"},
    "session": {"plan", "codec", "shuffle", "batch", "stream", "endpoints"},
    "endpoints": {"plan", "batch", "stream"},
}


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_rooms_of_the_spark_engine_do_not_know_those_above_and_beside_them(room: str) -> None:
    home = "cepheid.engines.spark."
    for path in sorted((ROOT / "engines" / "spark" / room).rglob("*.py")):
        names = (n.removeprefix(home) for n in imported_names(path) if n.startswith(home))
        assert not {name.partition(".")[0] for name in names} & ROOMS[room], path


def test_only_the_plan_of_the_spark_engine_asks_the_analyses() -> None:
    for path in sorted((ROOT / "engines" / "spark").rglob("*.py")):
        if path.parent.name != "plan":
            assert "analysis" not in imported_layers(path), path


def test_only_the_solver_knows_z3() -> None:
    for path in sorted(ROOT.rglob("*.py")):
        if path != ROOT / "analysis" / "solver.py":
            assert "z3" not in imported_packages(path), path


def test_only_the_sql_of_classes_and_what_reads_or_rewrites_it_know_sqlglot() -> None:
    for layer, path in modules():
        if layer not in ("sql", "bitemporal") and path.parent != ROOT / "analysis" / "classes":
            assert "sqlglot" not in imported_packages(path), path


def test_only_a_process_of_its_own_knows_maude() -> None:
    for path in sorted(ROOT.rglob("*.py")):
        if path != ROOT / "formal" / "maude" / "worker.py":
            assert "maude" not in imported_packages(path), path


def test_only_files_of_models_know_pyecore() -> None:
    for path in sorted(ROOT.rglob("*.py")):
        if path != ROOT / "live" / "ecore.py":
            assert "pyecore" not in imported_packages(path), path


def test_only_the_studio_knows_the_web() -> None:
    web = {"fastapi", "starlette", "uvicorn", "websockets"}
    for layer, path in modules():
        if layer != "studio":
            assert not imported_packages(path) & web, path


def test_what_few_need_is_loaded_late() -> None:
    loaded = loaded_after("import cepheid.simulation.simulate, cepheid.simulation.verify")
    assert not loaded & {"scipy.stats", "scipy.signal", "matplotlib"}


def test_live_models_load_no_library() -> None:
    loaded = loaded_after("import cepheid.live")
    assert not loaded & {"pyarrow", "pandas", "numpy", "pyspark", "pyecore", "lxml"}


def test_actions_load_neither_a_library_nor_what_only_some_executors_need() -> None:
    loaded = loaded_after("import cepheid.actions")
    assert not loaded & {"pyarrow", "pandas", "numpy", "smtplib", "ssl", "http.client", "sqlite3"}
    assert not any(name.startswith(("cepheid.program", "cepheid.engines")) for name in loaded)


def test_jobs_load_nothing_of_what_they_start() -> None:
    loaded = loaded_after("import cepheid.jobs")
    assert not loaded & {"pyarrow", "numpy", "pyspark", "typer", "rich"}
    heavy = ("cepheid.engines", "cepheid.lang", "cepheid.verbs", "cepheid.cli")
    assert not any(name.startswith(heavy) for name in loaded)


def test_the_spark_namespace_loads_no_pyspark() -> None:
    assert "pyspark" not in loaded_after("import cepheid as cep; cep.spark")


def test_every_folder_says_its_job() -> None:
    for path in ROOT.rglob("__init__.py"):
        assert ast.get_docstring(ast.parse(path.read_text())), path

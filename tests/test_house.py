"""The rules of the house that ruff, mypy and import-linter cannot say."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import pytest

import qpopt
import qpopt_torch

ROOT = Path(__file__).parents[1]
PACKAGES = ("qpopt", "qpopt_torch", "benchmarks")
FILES = sorted(file for package in PACKAGES for file in (ROOT / package).rglob("*.py"))
ROOMS = sorted({file.parent for file in FILES})

ROOM_FILES = 12
FILE_LINES = 300
PARAMETERS = 15
TOP = {"__init__", "__main__", "_version", "errors", "synthetic"}

DOORS = {
    ("qpopt.problem.instance", "qpopt.export.write"),
    ("qpopt_torch.sparse.classifier", "qpopt_torch.report"),
    ("qpopt_torch.sparse.classifier", "qpopt_torch.studio.launch"),
}
"""Imports that go up, inside a method: what a user expects to find at the object itself."""

NOT_EVERYBODY_HAS = {
    "PIL",
    "distributed",
    "gurobipy",
    "highspy",
    "jinja2",
    "matplotlib",
    "networkx",
    "onnxruntime",
    "ortools",
    "playwright",
    "pyscipopt",
    "starlette",
    "uvicorn",
}
"""Packages that one branch of a function needs: these alone may be imported inside it."""

Function = ast.FunctionDef | ast.AsyncFunctionDef

MODULES = {
    ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file
    for file in FILES
}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def parsed(file: Path) -> ast.Module:
    """Return the syntax of a file, or of its stub, which says what a lazy file would import."""
    stub = file.with_suffix(".pyi")
    return ast.parse((stub if stub.exists() else file).read_text(encoding="utf-8"))


def imported(node: ast.AST) -> list[str]:
    """Return the modules that an import statement names; names inside a module are cut off."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        assert node.module is not None
        assert node.level == 0, "imports are absolute"
        full = (f"{node.module}.{alias.name}" for alias in node.names)
        return sorted({name if name in MODULES else node.module for name in full})
    return []


def for_types_only(tree: ast.Module) -> set[ast.AST]:
    """Return everything below `if TYPE_CHECKING`."""
    return {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }


def public_functions(node: ast.AST) -> Iterator[Function]:
    """Yield the functions of a module and the methods of its classes that others may call."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, Function) and (inner.name[0] != "_" or inner.name == "__init__"):
            yield inner
        elif isinstance(inner, ast.ClassDef | ast.If | ast.Try):
            yield from public_functions(inner)


def parameters(function: Function) -> list[str]:
    """Return the names of the parameters of a function, the object itself apart."""
    given = function.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    starred = [argument for argument in (given.vararg, given.kwarg) if argument is not None]
    return [each.arg for each in (*named, *starred) if each.arg not in ("self", "cls")]


def is_command(file: Path) -> bool:
    """Whether the functions of a file are commands: their parameters are options of a program."""
    return file.parent.name == "cli" or file.name in ("__main__.py", "commands.py")


@pytest.mark.parametrize("room", ROOMS, ids=name_of)
def test_rooms_are_small(room):
    files = [file for file in room.glob("*.py") if file.name != "__init__.py"]
    assert len(files) <= ROOM_FILES


def test_files_are_short():
    lines = {name_of(file): len(file.read_text(encoding="utf-8").splitlines()) for file in FILES}
    assert {name: count for name, count in lines.items() if count > FILE_LINES} == {}


def test_public_functions_take_few_parameters():
    greedy = {
        f"{name_of(file)}:{function.lineno}": len(taken)
        for file in FILES
        if not is_command(file)
        for function in public_functions(parsed(file))
        if len(taken := parameters(function)) > PARAMETERS
    }
    assert greedy == {}


def test_imports_stand_at_the_top():
    """Only a door, or what one branch needs and not everybody has, is imported in a function."""
    inside = {
        (module, name)
        for module, file in MODULES.items()
        for function in ast.walk(parsed(file))
        if isinstance(function, Function)
        for node in ast.walk(function)
        for name in imported(node)
        if name.partition(".")[0] not in NOT_EVERYBODY_HAS
    }
    assert inside == DOORS


def test_importing_qpopt_loads_nothing_large():
    """What is large comes with the first name that needs it, and torch where it is asked for."""
    code = (
        "import sys, qpopt, qpopt_torch; before = set(sys.modules); qpopt.Instance; "
        "print(*before, '|', *sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    before, after = (set(names.split()) for names in ran.stdout.split("|"))
    large = {"numpy", "scipy", "numba", "pyomo", "rich", "typer", "highspy", "networkx", "torch"}
    ours = {"qpopt", "qpopt._version", "qpopt_torch"}
    assert before & large == set()
    assert {name for name in before if name.startswith("qpopt")} == ours
    assert "numpy" in after


@pytest.mark.parametrize("package", [qpopt, qpopt_torch], ids=["qpopt", "qpopt_torch"])
def test_names_are_loaded_from_where_the_stub_says(package):
    """Type checkers read `__init__.pyi`, Python the table of `__init__.py`."""
    root = package.__name__
    stub = {
        (alias.asname, f"{node.module}.{alias.name}")
        for node in parsed(ROOT / root / "__init__.py").body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    table = {(name, f"{root}.{module}.{name}") for name, module in package._MODULES.items()}
    others = {"qpopt": "_version.__version__", "qpopt_torch": "explain"}[root]
    assert stub == table | {(others.rpartition(".")[2], f"{root}.{others}")}
    assert {name for name, _ in stub} == set(package.__all__)
    for name in package.__all__:
        assert getattr(package, name) is not None


@pytest.mark.parametrize("package", PACKAGES)
def test_the_top_of_a_package_holds_no_subject(package):
    found = {file.stem for file in (ROOT / package).glob("*.py")}
    assert found <= (TOP if package == "qpopt" else TOP - {"synthetic"})


def test_imports_have_no_cycle():
    """Those inside functions count, and so do the names that a package loads at first use."""
    graph = nx.DiGraph()
    for module, file in MODULES.items():
        tree = parsed(file)
        ignored = set() if file.name == "__init__.py" else for_types_only(tree)
        for node in ast.walk(tree):
            if node not in ignored:
                edges = {(module, name) for name in imported(node) if name in MODULES}
                graph.add_edges_from(edges - DOORS)
    cycles = [sorted(c) for c in nx.strongly_connected_components(graph) if len(c) > 1]
    assert cycles == []


@pytest.mark.parametrize("room", ROOMS, ids=name_of)
def test_no_module_hides_a_public_function(room):
    """A module that is imported becomes an attribute of its package."""
    init = room / "__init__.py"
    package = name_of(room).replace("/", ".")
    hidden = {
        alias.asname or alias.name
        for node in ast.walk(parsed(init))
        if isinstance(node, ast.ImportFrom) and node.module != package
        for alias in node.names
        if f"{package}.{alias.asname or alias.name}" in MODULES
    }
    assert hidden == set()


@pytest.mark.parametrize("package", PACKAGES)
def test_tests_mirror_the_rooms(package):
    """Every room has a folder of tests; what is below `tests` without being a room has none."""
    rooms = {room.relative_to(ROOT) for room in ROOMS if room.is_relative_to(ROOT / package)}
    folders = {file.parent for file in (ROOT / "tests" / package).rglob("test_*.py")}
    assert {folder.relative_to(ROOT / "tests") for folder in folders} | {Path(package)} == rooms


def test_no_test_module_serves_another():
    served = {
        name_of(file)
        for file in (ROOT / "tests").rglob("*.py")
        for node in ast.walk(parsed(file))
        if isinstance(node, ast.ImportFrom) and ".test_" in f"{node.module}"
    }
    assert served == set()

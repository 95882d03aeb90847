"""The rules of the house that ruff, mypy and import-linter cannot say."""

from __future__ import annotations

import ast
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("qpopt", "qpopt_torch", "benchmarks")
FILES = sorted(file for package in PACKAGES for file in (ROOT / package).rglob("*.py"))
ROOMS = sorted({file.parent for file in FILES})

ROOM_FILES = 12
TOP = {"__init__", "__main__", "_version", "errors", "synthetic"}

DOORS = {
    ("qpopt.problem.instance", "qpopt.export.write"),
    ("qpopt_torch.sparse.classifier", "qpopt_torch.report"),
}
"""Imports that go up, inside a method: what a user expects to find at the object itself."""

MODULES = {
    ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file
    for file in FILES
}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


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


@pytest.mark.parametrize("room", ROOMS, ids=name_of)
def test_rooms_are_small(room):
    files = [file for file in room.glob("*.py") if file.name != "__init__.py"]
    assert len(files) <= ROOM_FILES


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

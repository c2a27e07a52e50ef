"""The layers of the package: every module imports only from those below it, and nothing heavy before it is needed."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

import topodesign

ROOT = Path(topodesign.__file__).parent

# Low to high; a folder imports from those before it.
LAYERS = (
    "base",
    "collectives",
    "topology",
    "solve",
    "fabrics",
    "plans",
    "graphs",
    "pricing",
    "optima",
    "execution",
    "catalog",
    "search",
    "schedulers",
    "finder",
    "runtime",
    "compiler",
    "wiring",
    "report",
    "cli",
    "__main__",
)

# The same for the folders of a layer: low to high, each importing from those before it.
SUBLAYERS = {
    "wiring": (
        *("inventory", "plan", "netbox", "bringup", "change", "switches", "exports", "parts", "check", "failures"),
        "plant",
    ),
}

# Folders that check the work of others and so share no code with them: all that they may import.
INDEPENDENT = {
    "plans/verify": {"base", "collectives", "topology", "plans", "fabrics"},
    "runtime": {"base", "collectives"},
}

# Imports from above, each inside a function and with a reason.
UPWARD: dict[tuple[str, str], str] = {}

# Modules that import names by text: they alone may, since the walk below cannot see it.
BY_NAME = {
    "__init__.py",
    "base/entry_points.py",
    "base/machine.py",
    "base/records.py",
    "cli/lazy.py",
    "report/schemas/derived.py",
    "schedulers/scheduling.py",
}

HEAVY = (
    "highspy",
    "igraph",
    "lxml",
    "matplotlib",
    "networkx",
    "numba",
    "pandas",
    "rich",
    "scipy",
    "sympy",
    "torch",
    "yaml",
)

# Solvers: only solve/ may import or call them.
SOLVERS = (
    "cvxpy",
    "gurobipy",
    "highspy",
    "networkx.maximum_flow",
    "networkx.minimum_cut",
    "networkx.network_simplex",
    "nx.maximum_flow",
    "nx.maximum_flow_value",
    "nx.minimum_cut",
    "nx.network_simplex",
    "ortools",
    "pulp",
    "scipy.optimize",
    "scipy.sparse.csgraph.maximum_flow",
)

# Modules with a heavy import at their top, which in turn are only imported inside functions.
HEAVY_HOMES = {
    "topodesign.base.lowering",
    "topodesign.execution.torch",
    "topodesign.execution.torch.engine",
    "topodesign.execution.torch.group",
    "topodesign.execution.torch.hook",
    "topodesign.execution.torch.links",
    "topodesign.execution.torch.world",
    "topodesign.report.table",
}

FILES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py"))


def layer(module: str) -> str:
    """``topodesign.cli.main`` and ``cli/main.py`` belong to ``cli``; the package itself to no layer."""
    return module.removeprefix("topodesign").removesuffix(".py").replace("/", ".").strip(".").split(".")[0]


class Read(NamedTuple):
    """What tests ask of a file, which is parsed once for all of them.

    The layers that it imports from, inside functions too, with the statement, and how many parameters its public
    functions take.
    """

    imports: tuple[tuple[str, ast.stmt], ...]
    parameters: dict[str, int]


@cache
def read(name: str) -> Read:
    tree = ast.parse((ROOT / name).read_text())
    return Read(tuple(_imports(name, tree)), dict(_parameters(tree.body)))


def imports(name: str) -> tuple[tuple[str, ast.stmt], ...]:
    return read(name).imports


def _imports(name: str, tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}:{node.lineno}: write the whole name of the module"
            package = node.module == "topodesign"
            modules = [f"topodesign.{alias.name}" for alias in node.names] if package else [str(node.module)]
        else:
            continue
        for module in modules:
            if module.split(".")[0] == "topodesign" and layer(module) not in {"", "__version__"}:
                yield layer(module), node


def code(path: Path) -> str:
    """The text of a module without its docstrings, whose examples import what they like."""
    return re.sub(r'"""(?s:.*?)"""', "", path.read_text())


def level(name: str) -> int:
    if name not in LAYERS:
        pytest.fail(f"'{name}' is in no layer; give it its place in LAYERS of {Path(__file__).name}")
    return LAYERS.index(name)


def test_no_module_lies_loose_at_the_root() -> None:
    assert {path.name for path in ROOT.glob("*.py")} == {"__init__.py", "__main__.py"}


def test_every_folder_says_what_lives_there() -> None:
    for path in ROOT.rglob("*/__init__.py"):
        assert ast.get_docstring(ast.parse(path.read_text())), f"{path.relative_to(ROOT)} has no docstring"


def test_every_module_has_its_layer() -> None:
    assert len(FILES) > 20
    for name in FILES:
        if name != "__init__.py":
            level(layer(name))


@pytest.mark.budget(12)
def test_imports_point_down() -> None:
    every = [(name, *one) for name in FILES if name != "__init__.py" for one in imports(name)]
    for name, other, statement in every:
        own = layer(name)
        where = f"topodesign/{name}:{statement.lineno}: {own} imports {other}"
        if other == own:
            continue
        if (own, other) in UPWARD:
            assert statement.col_offset > 0, f"{where}, which must be inside a function"
            continue
        assert level(other) < level(own), f"{where}, which is above it"
        for folder, allowed in INDEPENDENT.items():
            assert not name.startswith(f"{folder}/") or other in allowed, f"{where}, whose work it checks"


@pytest.mark.parametrize("own", SUBLAYERS)
def test_folders_of_a_layer_point_down(own: str) -> None:
    order = SUBLAYERS[own]
    folders = {path.name for path in (ROOT / own).iterdir() if (path / "__init__.py").exists()}
    assert folders == set(order)
    for folder in order:
        for path in (ROOT / own / folder).glob("*.py"):
            found = re.findall(rf"from topodesign\.{own}\.(\w+)[. ]", code(path))
            above = set(found) - set(order[: order.index(folder) + 1])
            assert not above, f"{path.relative_to(ROOT)} imports {own}.{above.pop()}, which is above {own}.{folder}"


@pytest.mark.parametrize("own", SUBLAYERS)
def test_modules_of_a_layer_make_no_circle(own: str) -> None:
    paths = (ROOT / own).rglob("*.py")
    files = {".".join(("topodesign", *path.relative_to(ROOT).with_suffix("").parts)): path for path in paths}
    graph = {}
    for name, path in files.items():
        graph[name] = set(re.findall(rf"from (topodesign\.{own}\.[\w.]+) import", code(path))) & files.keys()
    tuple(TopologicalSorter(graph).static_order())  # raises CycleError


def test_no_solver_is_called_outside_solve() -> None:
    found: dict[str, set[str]] = {}
    homes = {solver.split(".")[0] for solver in SOLVERS}
    for name in FILES:
        text = (ROOT / name).read_text()
        for node in ast.walk(ast.parse(text)) if any(home in text for home in homes) else ():
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Attribute):
                names = [ast.unparse(node)]
            else:
                continue
            wrong = {one for one in names for solver in SOLVERS if f"{one}.".startswith(f"{solver}.")}
            if wrong:
                found.setdefault(layer(name), set()).update(wrong)
    assert found.keys() == {"solve"}, found
    assert {"highspy", "scipy.optimize.quadratic_assignment", "nx.maximum_flow"} <= found["solve"]  # so it looks


def test_exceptions_are_needed() -> None:
    found = {(layer(name), other) for name in FILES for other, _ in imports(name)}
    assert found >= UPWARD.keys()
    for own, other in UPWARD:
        assert level(other) > level(own)


def test_imports_are_written_out() -> None:
    for name in sorted(set(FILES) - BY_NAME):
        text = (ROOT / name).read_text()
        for word in ("importlib", "__import__"):
            assert word not in text, f"topodesign/{name} imports by name, which this test cannot follow"


def test_heavy_imports_wait_until_they_are_needed() -> None:
    modules = ["topodesign." + name.removesuffix(".py").replace("/", ".").removesuffix(".__init__") for name in FILES]
    light = [name for name in modules if name not in {*HEAVY_HOMES, "topodesign.__init__"}]
    assert set(modules) >= HEAVY_HOMES
    code = (
        "import importlib, sys\n"
        "for name in sys.argv[1:]:\n"
        "    importlib.import_module(name)\n"
        f"    heavy = [other for other in {HEAVY} if other in sys.modules]\n"
        "    if heavy: sys.exit(f'{name} imports {heavy[0]}; import it inside the function that uses it')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *light], text=True, capture_output=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr


def folders() -> dict[str, set[str]]:
    """The folders of the package and those that each imports from."""
    known = {path.name for path in ROOT.iterdir() if (path / "__init__.py").exists()}
    found: dict[str, set[str]] = {name: set() for name in known}
    for name in FILES:
        if layer(name) in known:
            found[layer(name)] |= {other for other, _ in imports(name)} & known - {layer(name)}
    return found


def test_the_house_has_few_floors() -> None:
    below = folders()
    level: dict[str, int] = {}
    while len(level) < len(below):
        ready = [name for name in below if name not in level and below[name] <= level.keys()]
        assert ready, f"folders that import each other: {sorted(below.keys() - level.keys())}"
        level |= {name: 1 + max((level[other] for other in below[name]), default=0) for name in ready}
    assert max(level.values()) <= 10, sorted(level.items(), key=lambda pair: pair[1])


def test_no_modules_go_in_a_circle() -> None:
    names = {
        ("topodesign." + name.removesuffix(".py").replace("/", ".")): name for name in FILES if name != "__init__.py"
    }
    below: dict[str, set[str]] = {}
    for module, name in names.items():
        below[module] = set()
        for _, node in imports(name):
            if isinstance(node, ast.ImportFrom):
                whole = {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
                below[module] |= whole & names.keys() - {module}
    while leaves := {module for module, others in below.items() if not others & below.keys()}:
        below = {module: others for module, others in below.items() if module not in leaves}
    assert not below, f"in circles, or on the way between them: {', '.join(sorted(below))}"


MAX_PARAMETERS = 10


def _parameters(body: list[ast.stmt], prefix: str = "") -> Iterator[tuple[str, int]]:
    """Public functions and methods, constructors too."""
    for node in body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from _parameters(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef) and (not node.name.startswith("_") or node.name == "__init__"):
            given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            yield prefix + node.name, sum(one.arg not in {"self", "cls"} for one in given)


def test_no_public_function_takes_more_than_ten_parameters() -> None:
    found = {
        f"{name} {function}": many
        for name in FILES
        if not name.endswith("kernels.py")
        for function, many in read(name).parameters.items()
        if many > MAX_PARAMETERS
    }
    assert not found, "take groups of options (base/options.py)"

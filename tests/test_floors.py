"""Floors: too few checked samples fail a test, and no test of random samples ends early without one."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests import floors
from tests.conftest import is_thorough

TESTS = Path(__file__).parent


def own_nodes(function: ast.FunctionDef) -> list[ast.AST]:
    """All nodes of a function but those of functions inside it."""
    found: list[ast.AST] = []
    waiting: list[ast.AST] = [*function.body]
    while waiting:
        node = waiting.pop()
        found.append(node)
        if not isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            waiting += ast.iter_child_nodes(node)
    return found


def test_a_test_that_can_end_early_has_a_floor() -> None:
    for path in sorted(TESTS.rglob("test_*.py")):
        for function in ast.walk(ast.parse(path.read_text())):
            if isinstance(function, ast.FunctionDef) and function.name.startswith("test_"):
                early = any(isinstance(node, ast.Return) for node in own_nodes(function))
                floor = any(
                    ast.unparse(decorator).startswith("pytest.mark.floor(") for decorator in function.decorator_list
                )
                assert not early or floor, (
                    f"{path.name}:{function.lineno}: {function.name} returns early; use assume(), a branch, or a floor"
                )


def test_a_shortfall_is_told() -> None:
    for _ in range(3):
        floors.reached("read")
    assert floors.shortfall({"read": 3}) == ""
    assert floors.shortfall({"read": 4, "refused": 1}) == "read: 3 of 4; refused: 0 of 1"
    assert floors.shortfall({}) == "read: no floor"
    floors.counted.clear()


@pytest.mark.once
@pytest.mark.parametrize("one", ["a", "b", "c"])
@pytest.mark.parametrize(("two", "three"), [(1, 2), (1, 3)])
def test_a_quick_run_takes_every_value_of_a_product_once(
    request: pytest.FixtureRequest, one: str, two: int, three: int
) -> None:
    name = request.node.originalname
    cases = [item.name for item in request.session.items if getattr(item, "originalname", "") == name]
    if "[" not in "".join(request.config.args):
        assert len(cases) == (6 if is_thorough(request.config) else 3)
    assert all(any(value in case for case in cases) for value in ("1-2", "1-3", "-a", "-b", "-c")) or len(cases) == 1

"""What conftest does with tests: floors of samples, and few cases of all combinations."""

from __future__ import annotations

import pytest

from tests import floors
from tests.conftest import in_turn, is_dear, is_thorough


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


def test_dear_cases_are_left_out_of_a_run_of_everything(request: pytest.FixtureRequest) -> None:
    item = request.node
    assert not is_dear(item)
    item.add_marker(pytest.mark.dear("another case"))
    assert not is_dear(item)
    item.add_marker(pytest.mark.dear)
    assert is_dear(item)


def test_dear_tests_of_a_commit_are_as_many_as_asked_for_and_always_the_same() -> None:
    names = [f"test_{number}" for number in range(30)]
    assert in_turn(names, None) == in_turn(names, 30) == set(names)
    taken = in_turn(names, 7)
    assert len(taken) == 7
    assert taken == in_turn(names[::-1], 7)
    assert taken < in_turn(names, 8) < set(names)

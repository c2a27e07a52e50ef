"""Training steps on networks: laws of more and faster, all layouts of small ones, and clear errors."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.pricing.training.test_model import TINY
from topodesign.base.errors import ParameterError
from topodesign.base.shipped import copy_examples
from topodesign.pricing.mix import single
from topodesign.schedulers.step import as_step, price_step

MODEL: dict[str, Any] = {**TINY, "tensor": 2, "data": 4, "hidden": 1024}


def test_one_collective_takes_what_it_is_priced_at() -> None:
    """An allreduce of all nodes of a topology: 2 (steps alpha + y M/B)."""
    found = price_step(single("allreduce", Fraction(2**20)), "circulant(12,2,3)", bandwidth="100Gbps")
    assert found.seconds == 2 * (2 * Fraction(1, 10**5) + Fraction(11, 12) * 2**20 * 8 / 10**11)
    assert found.listed == found.seconds


def test_large_data_take_plans_with_more_steps() -> None:
    """The reduce-scatter that is stored for kautz(4,1) has a step more than SPFF, and sends less."""
    small, large = (price_step(single("reduce-scatter", Fraction(size)), "kautz(4,1)") for size in (2**10, 2**24))
    at_once, rate = 8 * Fraction(2**24) / 10**11, Fraction(1, 10**5)
    assert small.seconds == 2 * rate + 8 * Fraction(2**10) / 10**11
    assert large.seconds == 3 * rate + Fraction(19, 20) * at_once < 2 * rate + at_once


@pytest.mark.once
@pytest.mark.parametrize("place", ["torus(2,4)", "genkautz(2,8)", "fat_tree(2,4,2)"])
@pytest.mark.parametrize("changes", [{}, {"tensor": 1, "data": 4, "pipeline": 2}, {"experts": 4, "expert": 2}])
def test_laws(place: str, changes: dict[str, Any]) -> None:
    model = {**MODEL, **changes}
    rate: dict[str, Any] = {} if "tree" in place else {"bandwidth": "100Gbps"}
    found = price_step(model, place, **rate)
    assert found.bound <= found.seconds <= found.before
    assert sum(seconds for _, seconds in found.shares) == found.seconds
    assert price_step(model, place, alpha="20us", **rate).seconds >= found.seconds
    assert price_step({**model, "overlap": "no"}, place, **rate).seconds >= found.seconds
    assert price_step({**model, "flops": "2T"}, place, **rate).seconds < found.seconds
    same = price_step(model, place, placement=found.placement, **rate)
    assert (same.seconds, same.priced) == (found.seconds, 1)


@pytest.mark.dear
def test_all_layouts_of_six_are_between_the_bound_and_what_is_found() -> None:
    """Brute force: no layout is below the least bound, and the one that is found is one of them."""
    model = {**TINY, "hidden": 512, "tensor": 2, "data": 3, "batch": 6}
    found = price_step(model, "circulant(6,1,2)")
    every_order = itertools.permutations(range(1, 6))
    # all nodes are alike, and so are both ways round and the second and the third pair of ranks
    orders = [(0, *rest) for rest in every_order if rest.index(1) < rest.index(5) and rest[1:3] < rest[3:]]
    every = [price_step(model, "circulant(6,1,2)", placement=order) for order in orders]
    least = min(one.seconds for one in every)
    assert min(one.bound for one in every) <= least <= found.seconds
    assert found.seconds in {one.seconds for one in every}


def test_files_of_each_kind_are_steps(tmp_path: Path) -> None:
    model, mix, layers = copy_examples(["model_gpt3.yaml", "workload_moe.yaml", "workload_gpt2.csv"], tmp_path)
    assert as_step(model, {"tensor": 4}).shape == (4, 1, 1, 8)
    assert as_step(mix).shape == ()
    assert price_step(layers, "torus(2,2)").spent.compute > 0
    with pytest.raises(ParameterError, match="only a model has fields"):
        as_step(mix, {"tensor": 4})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"place": "torus(3,3)"}, "has 8 ranks .* 9 nodes; change the degrees"),
        ({"layouts": 0}, "layouts"),
        ({"placement": [0, 1]}, "a placement names every node once"),
        ({"place": "fat_tree(2,4,2)", "bandwidth": "1Gbps"}, "bandwidth"),
    ],
)
def test_what_is_wrong_is_said(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        price_step(MODEL, **{"place": "torus(2,4)", **options})

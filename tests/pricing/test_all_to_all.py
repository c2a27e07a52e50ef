"""The price of all-to-all: which way is taken, what it says, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import topodesign.pricing.all_to_all as pricing
from topodesign import all_to_all, build
from topodesign.base.errors import TopodesignError
from topodesign.pricing.efforts import Effort


@pytest.mark.parametrize("effort", ["quick", "auto", "exact"])
def test_small_topologies_are_priced_exactly(effort: Effort) -> None:
    found = all_to_all("circulant(12,2,3)", effort=effort)
    assert found.exact
    assert found.bandwidth == found.lower == found.upper == Fraction(14, 9)
    assert (found.moore, found.distances, found.equal_split) == (Fraction(3, 2), Fraction(3, 2), Fraction(5, 3))
    assert found.shortest_paths == Fraction(5, 3)
    assert found.flow is not None
    found.flow.check()
    assert found.record()["bandwidth"] == "14/9"
    assert "14/9 = 1.555556" in str(found)


def test_approximations_say_how_near_they_are() -> None:
    found = all_to_all("genkautz(4,32)", effort="approximate", gap="5%")
    assert found.flow is not None
    assert found.upper is not None
    assert found.gap is not None
    assert found.bandwidth is None
    assert found.record()["bandwidth"] is None
    assert found.lower <= Fraction(85, 32) <= found.upper
    assert 0 < found.gap <= Fraction(1, 20)
    assert f"{float(found.lower):.6f} to {float(found.upper):.6f}" in repr(found)


def test_bounds_alone() -> None:
    found = all_to_all("genkautz(4,32)", effort="bounds")
    assert found.flow is None
    assert (found.lower, found.upper) == (found.distances, found.equal_split)
    assert found.lower < Fraction(85, 32) < Fraction(29, 8) == found.upper
    assert all_to_all("hypercube(4)", effort="bounds").exact


@pytest.mark.dear("hypercube(14)")
@pytest.mark.parametrize(
    "text",
    [pytest.param("debruijn(32,3)", marks=pytest.mark.thorough), "debruijn(16,3)", "hypercube(14)", "torus(100,100)"],
)
def test_loads_of_millions_are_counted(text: str) -> None:
    """Large orbits of nodes and links: more than 64 bits, or the solver's digits, where they are counted carelessly."""
    found = all_to_all(text, effort="quick")
    assert found.moore <= found.lower
    assert found.upper is not None
    assert found.lower <= found.upper


@pytest.mark.thorough
def test_a_program_of_large_numbers_is_solved() -> None:
    found, quick = (all_to_all("debruijn(16,4)", effort=effort) for effort in ("exact", "quick"))
    assert found.exact
    assert found.bandwidth is not None
    assert quick.upper is not None
    assert max(found.moore, quick.lower) <= found.bandwidth <= quick.upper


def test_quick_is_quick() -> None:
    """What takes long is bounded only, and what is too large for that is bounded by distances in any topology."""
    assert all_to_all("genkautz(4,1001)", effort="quick").method == "equal split"
    large = all_to_all("genkautz(4,5001)", effort="quick")
    assert large.upper is None
    assert large.gap is None
    assert large.lower == large.moore
    assert "at least 5" in repr(large)


@pytest.mark.parametrize("text", ["torus(32,32)", "circulant(1024,1,5,30,200)", "cayley(metacyclic(64,16,3),1,40,100)"])
def test_symmetry_makes_large_ones_exact(text: str) -> None:
    topology = build(text)
    assert topology.nodes == 1024
    assert all_to_all(topology).exact


@pytest.mark.parametrize(
    "call",
    [
        lambda: all_to_all("toros(4,4)"),
        lambda: all_to_all(None),
        lambda: all_to_all("torus(4,4)", effort="great"),  # type: ignore[arg-type]
        lambda: all_to_all("torus(4,4)", gap=0),
        lambda: all_to_all("torus(4,4)", gap="none"),
        lambda: all_to_all("torus(4,4)", gap=float("nan")),
        lambda: all_to_all("torus(4,4)", gap=None),  # type: ignore[arg-type]
        lambda: all_to_all("torus(4,4)", seconds=-1),
        lambda: all_to_all("torus(4,4)", seconds="long"),  # type: ignore[arg-type]
        lambda: all_to_all("dgx_a100(2)"),
        lambda: all_to_all("complete(1)"),
    ],
)
def test_wrong_arguments_are_errors_of_ours(call: Any) -> None:
    with pytest.raises(TopodesignError):
        call()


@pytest.mark.parametrize(
    "spec",
    [
        "mesh(4,3)",
        "mesh(2,3,2)",
        "torus(3,4)",
        "product(mesh(3),complete(4))",
        "product(randomregular(6,2,0),mesh(3))",
        "power(randomregular(5,2,1),2)",
        "product(line(complete(3)),kautz(2,1))",
    ],
)
def test_of_products_by_their_factors(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What factors say is what the best flow of the product takes."""
    whole = all_to_all(spec, effort="exact")
    monkeypatch.setattr(pricing, "EXACT_ROWS", 0)
    parts = all_to_all(spec, effort="exact")
    assert parts.method == "dimension by dimension"
    assert parts.bandwidth == whole.bandwidth is not None
    assert parts.claims[0].proven == whole.claims[0].proven


def test_of_a_cube_without_ends_that_meet() -> None:
    """Half of the nodes send to the other half over 64 links: 256 * 256 / 64 shards each."""
    found = all_to_all("mesh(8,8,8)", effort="quick")
    assert found.bandwidth == Fraction(6, 512) * 1024 == 12

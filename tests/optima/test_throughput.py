"""Bottlenecks in words: the links that bind, what has to cross them, and names that a reader knows."""

from __future__ import annotations

from fractions import Fraction

import pytest

from topodesign.base.units import format_rate
from topodesign.fabrics.presets import build_fabric
from topodesign.optima.optimum import optimum


@pytest.mark.parametrize("spec", ["dgx_a100(1)", "dgx_a100(2)", "mi250(1)", "fat_tree(3,4,2,3)"])
@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter", "broadcast"])
def test_the_bandwidth_of_the_links_is_told_with_what_has_to_cross_them(spec: str, collective: str) -> None:
    fabric = build_fabric(spec)
    root = fabric.names[fabric.compute[0]] if collective == "broadcast" else None
    result = optimum(fabric, collective, root=root)
    text = result.solution.bottleneck
    together = sum((link.bandwidth for link in result.solution.links), Fraction(0))
    assert format_rate(together) in text
    assert ("together" in text) == (len(result.solution.links) > 1)
    assert ("sums" in text) == (collective == "reduce-scatter")
    assert all(link.kind in text for link in result.solution.links)

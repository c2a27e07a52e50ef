"""Unwinding: every switch becomes links, and nobody gets more bandwidth than it had."""

from __future__ import annotations

from collections import Counter

import pytest

from topodesign.base.errors import ParameterError
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.presets import build_fabric
from topodesign.fabrics.unwinding import replace_switches


def out_of(fabric: Fabric) -> Counter[str]:
    rates: Counter[str] = Counter()
    for link in fabric.links():
        rates[link.src] += link.bandwidth  # type: ignore[assignment]
    return rates


@pytest.mark.parametrize("name", ["dgx_a100(1)", "dgx_a100(2)", "mi250(2)"])
@pytest.mark.parametrize(("degree", "both_ways"), [(1, False), (1, True), (2, False), (3, True), (None, False)])
def test_bandwidth_is_shared_and_no_more(name: str, degree: int | None, both_ways: bool) -> None:
    whole = build_fabric(name)
    fabric = replace_switches(whole, degree, both_ways=both_ways)
    assert not fabric.topology.switches
    before, after = out_of(whole), out_of(fabric)
    assert all(after[node] == before[node] for node in fabric.names)  # alike ports: nothing is lost, either


def test_degrees_are_those_of_figure_10() -> None:
    switch = build_fabric("dgx_a100(1)")
    counts = [len(replace_switches(switch, degree).links()) for degree in (1, 2, 7, 100)]
    assert counts == [8, 16, 56, 56]
    assert len(replace_switches(switch, 1, both_ways=True).links()) == 16
    assert replace_switches(switch, 2).links()[0].bandwidth == replace_switches(switch, 1).links()[0].bandwidth / 2
    with pytest.raises(ParameterError):
        replace_switches(switch, 0)

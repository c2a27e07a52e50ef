"""Free ports by name: one word for them, the words of before, and rows that are as if priced."""

from __future__ import annotations

import pytest

from topodesign import all_to_all
from topodesign.base.spec import parse
from topodesign.catalog.all_to_all import Bounds
from topodesign.catalog.exchange import Exchange
from topodesign.catalog.idle import has_idle_ports, idle_exchange, idle_row, with_idle_ports
from topodesign.catalog.search_state import by_spff
from topodesign.search.target import Target
from topodesign.topology.library import build


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hoffmansingleton()", "spare(hoffmansingleton(),1)"),
        ("spare(complete(5),2)", "spare(complete(5),3)"),
        ("spare(complete(5))", "spare(complete(5),2)"),
        ("transpose(genkautz(2,5))", "transpose(spare(genkautz(2,5),1))"),
    ],
)
def test_the_spec_has_the_ports_once(text: str, expected: str) -> None:
    spec = with_idle_ports(parse(text))
    assert str(spec) == expected
    assert has_idle_ports(spec)
    assert build(str(spec)).degree == build(text).degree + 1


def test_words_of_before_are_known() -> None:
    assert has_idle_ports(parse("product(complete(5),successors(1,0))"))
    assert not has_idle_ports(parse("product(complete(5),uniring(1,3))"))
    assert not has_idle_ports(parse("hoffmansingleton()"))


@pytest.mark.parametrize("text", ["genkautz(3,11)", "transpose(genkautz(3,10))", "polarity(2)"])
def test_rows_with_a_free_port_are_as_if_priced(text: str) -> None:
    topology = build(text)
    row = by_spff(Target(topology.nodes, topology.degree, topology.is_duplex), parse(text))
    wider = idle_row(row)
    assert wider == by_spff(Target(row.nodes, row.degree + 1, row.duplex), parse(wider.spec))


@pytest.mark.parametrize("text", ["genkautz(3,11)", "polarity(2)", "circulant(11,1,3)"])
def test_all_to_all_with_a_free_port_is_as_if_priced(text: str) -> None:
    topology, taken = build(text), all_to_all(text)
    assert taken.exact
    assert taken.upper is not None
    known = Exchange(topology.nodes, topology.is_duplex, 9, Bounds(taken.upper, taken.upper), text)
    wider = idle_exchange(known, topology.degree)
    assert wider.all_to_all.bandwidth == all_to_all(wider.spec).bandwidth
    assert (wider.nodes, wider.steps, wider.duplex) == (known.nodes, 9, known.duplex)

"""Free ports by name: one word for them, the words of before, and rows that are as if priced."""

from __future__ import annotations

import pytest

from topodesign.base.spec import parse
from topodesign.catalog.idle import has_idle_ports, idle_row, with_idle_ports
from topodesign.search.state import by_spff
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

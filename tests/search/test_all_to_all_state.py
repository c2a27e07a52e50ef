"""What expansions take for all-to-all, by theorem: as priced from their links, and never less than a bound says."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from topodesign import Catalog, all_to_all, build
from topodesign.base.spec import parse
from topodesign.catalog.all_to_all import Bounds
from topodesign.catalog.audit import audit_exchange
from topodesign.catalog.exchange import EXCHANGE, Exchange
from topodesign.catalog.files import write_rows
from topodesign.catalog.price import FINE, price_topology
from topodesign.search.all_to_all_state import ExchangeState, drafted, expanded, lines

SPECS = ("genkautz(2,6)", "uniring(1,3)", "polarity(2)", "biring(2,4)", "complete(4)")


def known(text: str, steps: int | None = None) -> Exchange:
    draft = drafted(parse(text), build(text).degree)
    assert draft is not None
    price = all_to_all(text, effort="exact").bandwidth
    assert price is not None
    return draft.priced(Bounds(price, price))


@pytest.fixture
def state(tmp_path: Path) -> ExchangeState:
    """Topologies of few nodes and ports, and nothing of larger sizes."""
    EXCHANGE.write(tmp_path, 1, [known("uniring(1,3)")])
    EXCHANGE.write(tmp_path, 2, [known("genkautz(2,6)"), known("biring(2,4)")])
    EXCHANGE.write(tmp_path, 3, [known("complete(4)"), known("polarity(2)")])
    write_rows(tmp_path, 6, [])
    return ExchangeState(Catalog(tmp_path), range(1, 7))


@pytest.mark.parametrize("size", [(6, 3), (7, 4), (6, 4), (4, 6), (12, 3), (12, 4), (24, 4), (16, 5), (18, 3)])
def test_expansions_take_what_theorems_say(state: ExchangeState, size: tuple[int, int]) -> None:
    found = list(expanded(state, size))
    assert found
    for name, one in found:
        assert one.spec.startswith(name) or (name, one.spec[:5]) == ("product", "power")
        topology = build(one.spec)
        assert (topology.nodes, topology.degree, topology.is_duplex) == (*size, one.duplex)
        again = known(one.spec)
        assert (again.steps, again.all_to_all) == (one.steps, one.all_to_all)


@pytest.mark.parametrize("text", ["genkautz(2,6)", "biring(2,4)", "complete(4)", "genkautz(3,7)", "uniring(2,5)"])
def test_no_line_graph_takes_less_than_the_bound(text: str, tmp_path: Path) -> None:
    base, line = known(text), known(f"line({text})")
    degree = build(text).degree
    for share, offered in ((Fraction(1), 0), (Fraction(21, 20), 1)):  # of the line graph's own price
        other = replace(line, all_to_all=Bounds(*[line.all_to_all.upper * share] * 2), spec="another")
        EXCHANGE.write(tmp_path, degree, [base, other])
        state = ExchangeState(Catalog(tmp_path), [degree])
        assert len([one for one in lines(state, (line.nodes, degree)) if state.settle(one)]) == offered


def test_line_graphs_are_offered_where_they_may_be_better(state: ExchangeState) -> None:
    (draft,) = lines(state, (12, 2))
    assert str(draft.spec) == "line(genkautz(2,6))"
    assert state.settle(draft)
    assert not list(lines(state, (12, 2)))
    assert [one.spec for one in state.new] == ["line(genkautz(2,6))"]
    assert not state.keep(known("genkautz(2,12)"), 2)


@pytest.mark.dear
def test_bounds_that_are_far_apart_are_priced_more_finely(tmp_path: Path) -> None:
    text = "randomregulargraph(40,4,1)"
    draft = drafted(parse(text), 4)
    assert draft is not None
    bounds = price_topology(draft.topology)
    assert bounds is not None
    assert not bounds.exact
    EXCHANGE.write(tmp_path, 4, [draft.priced(bounds)])
    state = ExchangeState(Catalog(tmp_path), [4])
    state.refine(draft.priced(bounds), 4)
    [one] = state.known((40, 4))
    assert one.spec == text
    assert bounds.lower <= one.all_to_all.lower <= one.all_to_all.upper < bounds.upper
    assert one.all_to_all.upper <= one.all_to_all.lower * (1 + 2 * FINE)
    assert audit_exchange(one, 4) is None
    other = replace(one, all_to_all=Bounds(one.all_to_all.lower, one.all_to_all.lower))
    assert audit_exchange(other, 4) is not None

"""Few steps: what is found has them, and is of the size, degree and cabling that were asked for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topodesign.pricing.closed_form import distances, price
from topodesign.search import few_steps
from topodesign.search.few_steps import search_near
from topodesign.search.near_kernels import bring_near
from topodesign.search.target import Target
from topodesign.topology.library import build


@pytest.mark.parametrize(
    ("target", "steps", "base"),
    [
        (Target(110, 3, False), 5, "kautz(3,3)"),
        (Target(61, 4, False), 4, "line(circulant(16,1,6),1)"),
        (Target(26, 4, True), 3, "circulant(25,1,7)"),
        (Target(64, 3, True), 7, "randomregulargraph(62,3,1)"),
        (Target(33, 5, True), 4, "randomregulargraph(32,5,1)"),
    ],
)
def test_what_is_found_is_what_was_asked_for(target: Target, steps: int, base: str) -> None:
    bases = [build(base)] if abs(build(base).nodes - target.nodes) <= 8 else []
    family = "randomregulargraph" if target.duplex else "randomregular"
    bases.append(build(f"{family}({target.nodes},{target.degree},1)"))
    spec = search_near(target, steps, bases, 5000)
    assert spec is not None
    found = build(str(spec))
    assert (found.nodes, found.degree) == (target.nodes, target.degree)
    assert found.is_regular
    assert found.self_loops == target.nodes * target.degree % 2
    assert found.is_duplex or not target.duplex
    assert price(found).steps <= steps


def test_nothing_is_found_where_there_is_nothing() -> None:
    assert search_near(Target(14, 3, False), 2, [build("kautz(3,2)")], 200) is None


@given(st.integers(20, 70), st.integers(3, 4), st.booleans(), st.integers(0, 99), st.integers(0, 300))
@settings(max_examples=30)
def test_the_pairs_that_are_left_are_counted_right(n: int, d: int, duplex: bool, seed: int, exchanges: int) -> None:
    n += n * d % 2 * (not duplex)
    start = build(f"{'randomregulargraph' if duplex else 'randomregular'}({n},{d},{seed})")
    out = np.repeat(start.dst, start.capacity).reshape(n, d)
    into = np.argsort(out.ravel(), kind="stable").reshape(n, d) // d
    state = np.array([seed + 1], np.uint64)
    steps = 3
    far = bring_near(out, into, steps, duplex, exchanges, 64, state)
    after = type(start).from_arrays(n, np.repeat(np.arange(n), d), out.ravel())
    assert far == sum(sum(not 0 <= x <= steps for x in distances(after, node)) for node in range(n))
    assert after.is_regular
    assert after.self_loops == start.self_loops
    assert after.is_duplex or not duplex
    assert sorted(zip(np.repeat(np.arange(n), d).tolist(), out.ravel().tolist(), strict=True)) == sorted(
        (u, v) for v in range(n) for u in into[v].tolist()
    )


def test_where_few_pairs_are_left_exchanges_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    base = build("cayley(alternating(5),3,13,47)")
    found = search_near(Target(58, 3, duplex=True), 5, [base], 500, seed=2)
    assert found is not None
    assert price(build(str(found))).steps == 5
    monkeypatch.setattr(few_steps, "_NEARLY", 0)
    assert search_near(Target(58, 3, duplex=True), 5, [base], 500, seed=2) is None

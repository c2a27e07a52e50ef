"""Sends as permutations: proper colourings with as many colours as the degree."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from topodesign.compiler.frontends.colouring import degree_of, edge_colouring

edges = st.sets(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=60).map(sorted)


@given(edges, st.randoms(use_true_random=False))
def test_colours_are_proper_and_as_few_as_the_degree(found: list[tuple[int, int]], rng: object) -> None:
    rng.shuffle(found)  # type: ignore[attr-defined]
    colours = edge_colouring(found)
    degree = degree_of(found)
    assert degree == max((sum(end[side] == node for end in found) for side in (0, 1) for node in range(10)), default=0)
    assert set(colours) <= set(range(degree))
    for side in (0, 1):
        assert len({(edge[side], colour) for edge, colour in zip(found, colours, strict=True)}) == len(found)

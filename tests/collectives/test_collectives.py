"""Collectives as values: duals, parts, blocks and buffers by the laws that define them."""

from __future__ import annotations

import json
import pickle
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topodesign.base.errors import ParameterError
from topodesign.collectives import ALLREDUCE, COLLECTIVES, Collective, as_collective, from_record
from topodesign.collectives.collective import EVERYONE

names = st.sampled_from(sorted(COLLECTIVES))


@st.composite
def chosen(draw: st.DrawFn) -> tuple[Collective, int]:
    """A collective with a root, if it has one, and perhaps a group; and a number of nodes."""
    nodes = draw(st.integers(1, 9))
    collective = COLLECTIVES[draw(names)]
    group = draw(st.none() | st.sets(st.integers(0, nodes - 1), min_size=1).map(sorted))
    members = range(nodes) if group is None else group
    root = draw(st.sampled_from(members)) if collective.rooted else None
    return collective.at(root).among(group), nodes


@pytest.mark.parametrize("collective", COLLECTIVES.values(), ids=str)
def test_the_dual_of_the_dual_is_the_collective(collective: Collective) -> None:
    assert collective.dual.dual == collective
    assert [one.reversed() for one in reversed(collective.movements)] == list(collective.dual.movements)
    assert collective.rooted == collective.dual.rooted
    if not collective.pairwise and "all" in collective.ends and len(collective.movements) == 1:
        assert collective.reduces != collective.dual.reduces


@pytest.mark.parametrize("collective", COLLECTIVES.values(), ids=str)
def test_the_parts_do_what_the_whole_does(collective: Collective) -> None:
    assert tuple(one for part in collective.parts for one in part.movements) == collective.movements
    assert all(len(part.movements) == 1 for part in collective.parts)
    assert len(collective.parts) == len(collective.movements)
    assert collective.reduces == any(part.reduces for part in collective.parts)
    assert collective.copies == any(part.copies for part in collective.parts)


@given(chosen())
def test_blocks_start_and_end_where_the_buffers_have_them(case: tuple[Collective, int]) -> None:
    collective, nodes = case
    members = collective.members(nodes)
    blocks = collective.blocks(members, nodes)
    assert len(set(blocks.tolist())) == len(blocks)
    assert blocks.max() < collective.block_count(nodes)
    ranks = len(members)
    dense = collective.among(None).at(
        None if collective.root is None else int(np.searchsorted(members, collective.root))
    )
    everyone = np.arange(ranks)
    numbers = dense.blocks(everyone, ranks)
    first, _ = dense.places(dense.movements[0], numbers, ranks)
    _, last = dense.places(dense.movements[-1], numbers, ranks)
    for rank in range(ranks):
        starts = numbers[(first == rank) | (first == EVERYONE)]
        ends = numbers[(last == rank) | (last == EVERYONE)]
        assert list(dense.inputs(rank, ranks)) == starts.tolist()
        assert list(dense.outputs(rank, ranks)) == ends.tolist()
        into, out = dense.in_place(rank, ranks)
        if len(starts) and len(ends) and not dense.pairwise:  # one memory: a block is where both have it
            place = {block: at for at, block in enumerate(ends.tolist(), out)}
            assert all(place.get(block, at) == at for at, block in enumerate(starts.tolist(), into))


@given(chosen())
def test_records_give_the_collective_back(case: tuple[Collective, int]) -> None:
    collective, _ = case
    assert from_record(json.loads(json.dumps(collective.record()))) == collective
    assert pickle.loads(pickle.dumps(collective)) == collective  # noqa: S301  our own
    assert hash(collective) == hash(from_record(collective.record()))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: as_collective("allgahter"), "did you mean 'allgather'"),
        (lambda: as_collective("sum"), "known are allgather, reduce-scatter"),
        (lambda: as_collective(3), "unknown collective 3"),  # type: ignore[arg-type]
        (lambda: ALLREDUCE.at(0), "allreduce has no root"),
        (lambda: ALLREDUCE.among([]), "at least one"),
        (lambda: ALLREDUCE.among([1, 1]), "once"),
        (lambda: as_collective("reduce").members(4), "reduce needs a root"),
        (lambda: as_collective("reduce").at(3).among([0, 1]).members(4), "root 3 of the reduce is none of its members"),
        (lambda: ALLREDUCE.among([0, 4]).members(4), "node 4, which is no node"),
        (lambda: ALLREDUCE.among([0, 3]).members(4, {3}), "node 3, which is a switch"),
        (lambda: from_record({"name": "allgather", "roots": 1}), "name, root and group"),
        (lambda: from_record({"name": "allgather", "group": ["a"]}), "list of nodes"),
        (lambda: from_record({"name": "reduce", "root": -1}), "node's number"),
    ],
)
def test_what_is_no_collective_is_refused(make: object, words: str) -> None:
    with pytest.raises(ParameterError, match=re.escape(words)):
        make()  # type: ignore[operator]

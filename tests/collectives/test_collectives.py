"""Collectives as values: duals, parts, blocks and buffers by the laws that define them."""

from __future__ import annotations

import itertools
import json
import pickle
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topodesign.base.errors import ParameterError
from topodesign.collectives import ALLREDUCE, COLLECTIVES, Collective, as_collective, from_record
from topodesign.collectives.collective import EVERYONE, join_collectives

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


@st.composite
def grouped(draw: st.DrawFn) -> tuple[Collective, list[list[int]], list[int] | None, int]:
    """A collective, at least two groups of nodes in any order, their roots, if it has one, and a number of nodes."""
    nodes = draw(st.integers(2, 9))
    owner = draw(
        st.lists(st.integers(-1, 3), min_size=nodes, max_size=nodes).filter(lambda one: len({*one} - {-1}) > 1)
    )
    groups = draw(st.permutations([[v for v in range(nodes) if owner[v] == team] for team in {*owner} - {-1}]))
    collective = COLLECTIVES[draw(names)]
    roots = [draw(st.sampled_from(group)) for group in groups] if collective.rooted else None
    return collective, groups, roots, nodes


@pytest.mark.parametrize("collective", COLLECTIVES.values(), ids=str)
def test_what_is_called_reduce_adds_up_and_all_others_copy(collective: Collective) -> None:
    assert collective.reduces == ("reduce" in collective.name)
    assert collective.copies == (not collective.reduces or collective == ALLREDUCE)
    assert collective.like(collective)
    assert as_collective(collective) is collective is as_collective(collective.name)
    assert collective.like(collective.dual) == (collective.dual == collective)


def test_runtimes_have_words_for_all_that_their_parsers_read() -> None:
    """Those of NCCL's descendants know no scatter and no gather, and one of them writes an underscore."""
    for runtime in ("msccl", "msccl-executor", "rccl"):
        words = {one.label(runtime) or "" for one in COLLECTIVES.values()} - {""}
        scattered = "reduce_scatter" if runtime == "msccl" else "reducescatter"
        assert words == {"allgather", scattered, "allreduce", "broadcast", "reduce", "alltoall"}


@given(grouped())
def test_groups_do_each_for_itself_what_they_do_alone(
    case: tuple[Collective, list[list[int]], list[int] | None, int],
) -> None:
    collective, groups, roots, nodes = case
    whole = collective.within(groups, roots)
    pairs = itertools.zip_longest(groups, roots or ())
    alone = [collective.at(root).among(group) for group, root in pairs]
    assert list(whole.single) == alone
    assert whole.members(nodes).tolist() == sorted(v for one in alone for v in one.members(nodes).tolist())
    assert whole.teams(nodes).tolist() == [
        next((number for number, group in enumerate(groups) if node in group), -1) for node in range(nodes)
    ]
    blocks = whole.blocks(whole.members(nodes), nodes)
    each = [one.blocks(one.members(nodes), nodes).tolist() for one in alone]
    assert sorted(blocks.tolist()) == sorted(block for some in each for block in some)
    shares, parts = whole.shares(blocks, nodes, len(whole.members(nodes)))
    share = dict(zip(blocks.tolist(), shares.tolist(), strict=True))
    for one, own in zip(alone, each, strict=True):  # a block is as large a part of M as it is of its group's alone
        assert all(share[block] * one.shards(len(one.members(nodes))) == parts for block in own)
    for movement in whole.movements:  # every block goes where it goes in its own group
        ends = [
            dict(zip(blocks.tolist(), side.tolist(), strict=True)) for side in whole.places(movement, blocks, nodes)
        ]
        for one, own in zip(alone, each, strict=True):
            sides = one.places(movement, np.array(own, dtype=np.int64), nodes)
            assert [[end[block] for block in own] for end in ends] == [side.tolist() for side in sides]
    assert from_record(json.loads(json.dumps(whole.record()))) == whole
    assert set(whole.parts) == {part.within(groups, roots) for part in collective.parts}
    assert repr(whole).startswith(f"<{collective.name}.within(")


@given(grouped(), st.integers(0, 8))
def test_groups_that_are_none_are_refused(
    case: tuple[Collective, list[list[int]], list[int] | None, int], at: int
) -> None:
    collective, groups, roots, _ = case
    node = groups[0][0]
    wrong = [
        ([], None),
        ([*groups, []], roots),
        ([*groups, [node]], roots and [*roots, node]),
        ([[-1]], roots and [-1]),
    ]
    wrong += [(groups, [*roots, roots[0]]), (groups, [roots[0]] * len(groups)), (groups, None)] if roots else []
    wrong += [] if roots else [(groups, [group[0] for group in groups])]
    for some, chosen_roots in wrong:
        with pytest.raises(ParameterError):
            collective.within(some, chosen_roots)
    with pytest.raises(ParameterError, match="requires a root in each" if roots else "has no root; omit roots"):
        collective.within(groups, None if roots else [group[0] for group in groups])
    with pytest.raises(ParameterError, match=r"has a root in each|has no root"):
        collective.within(groups, roots).at(at)
    one = collective.within(groups[:1], roots and roots[:1])
    assert one == collective.at(None if roots is None else roots[0]).among(groups[0])


@given(st.lists(chosen(), min_size=1, max_size=3))
def test_several_collectives_are_all_of_theirs(cases: list[tuple[Collective, int]]) -> None:
    some, nodes = [one for one, _ in cases], max(nodes for _, nodes in cases)
    whole = join_collectives(some)
    assert list(whole.single) == some
    assert from_record(json.loads(json.dumps(whole.record()))) == whole
    if None not in [one.group for one in some]:
        assert set(whole.members(nodes).tolist()) == {v for one in some for v in one.members(nodes).tolist()}
    else:
        assert len(whole.members(nodes)) == nodes
    for wrong in ([], [whole, *some]):
        with pytest.raises(ParameterError, match="each of one kind"):
            join_collectives(wrong)


@pytest.mark.parametrize("collective", COLLECTIVES.values(), ids=str)
def test_the_dual_of_the_dual_is_the_collective(collective: Collective) -> None:
    assert collective.dual.dual == collective
    assert [one.reverse() for one in reversed(collective.movements)] == list(collective.dual.movements)
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
    assert np.flatnonzero(collective.teams(nodes) == 0).tolist() == members.tolist()
    assert blocks.max() < collective.block_count(nodes)
    ranks = len(members)
    assert repr(collective).count(".") == (collective.root is not None) + (collective.group is not None)
    dense = collective.among(None).at(
        None if collective.root is None else int(np.searchsorted(members, collective.root))
    )
    everyone = np.arange(ranks)
    numbers = dense.blocks(everyone, ranks)
    first, _ = dense.places(dense.movements[0], numbers, ranks)
    _, last = dense.places(dense.movements[-1], numbers, ranks)
    most = max(len(one(rank, ranks)) for one in (dense.inputs, dense.outputs) for rank in range(ranks))
    assert most == dense.shards(ranks)  # M is all that some node has at the start or at the end
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
        (lambda: as_collective([]), "unknown collective []"),  # type: ignore[arg-type]
        (lambda: ALLREDUCE.at(0), "allreduce has no root"),
        (lambda: ALLREDUCE.among([]), "at least one"),
        (lambda: ALLREDUCE.among([1, 1]), "once"),
        (lambda: as_collective("reduce").members(4), "reduce requires a root"),
        (
            lambda: as_collective("reduce").at(3).among([0, 1]).members(4),
            "root 3 of the reduce is not one of its members",
        ),
        (lambda: ALLREDUCE.among([0, 4]).members(4), "node 4, which is not a node"),
        (lambda: ALLREDUCE.among([0, 3]).members(4, {3}), "node 3, which is a switch"),
        (lambda: from_record({"name": "allgather", "roots": 1}), "name, root and group"),
        (lambda: from_record({"name": "allgather", "group": [0, "a"]}), "list of nodes"),
        (lambda: from_record({"name": "allgather", "groups": [[0], ["a"]], "roots": None}), "lists of nodes"),
        (lambda: from_record({"name": "allgather", "groups": {"0": 1}, "roots": None}), "lists of nodes"),
        (lambda: from_record({"name": "reduce", "groups": [[0], [1]], "roots": [0, "1"]}), "lists of nodes"),
        (lambda: from_record({"name": "reduce", "root": -1}), "node's number"),
    ],
)
def test_what_is_no_collective_is_refused(make: object, words: str) -> None:
    with pytest.raises(ParameterError, match=re.escape(words)):
        make()  # type: ignore[operator]


@pytest.mark.parametrize(
    "parts", [3, "ab", [{"together": []}], [{"name": "allgather"}, {"together": [{"name": "gather"}]}]]
)
def test_what_is_at_the_same_time_is_a_list_of_collectives(parts: object) -> None:
    with pytest.raises(ParameterError, match="a list of objects, one for each"):
        from_record({"together": parts})

"""Shards as chunks: no neighbouring order of the pieces of a shard has messages in fewer runs."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import pytest

from tests.floors import reached
from tests.samples.schedules import gather_rows, make, random_digraph
from topodesign.base.errors import TooLargeError
from topodesign.compiler.frontends.layout import Layout, layout


def runs(made: Layout, moved: dict[int, int]) -> int:
    """Into how many runs the chunks of messages fall where some lie elsewhere."""
    found = 0
    for begin, end in itertools.pairwise(made.first.tolist()):
        places = sorted(moved.get(x, x) for x in made.chunks[begin:end].tolist())
        found += 1 + sum(b != a + 1 for a, b in itertools.pairwise(places))
    return found


def beside(made: Layout, nodes: int) -> Iterator[dict[int, int]]:
    """Where chunks of a shard lie if two neighbouring pieces of it are exchanged, or all are turned round."""
    carried = defaultdict(list)
    for x, message in zip(made.chunks.tolist(), made.message.tolist(), strict=True):
        carried[x].append(message)
    for owner in range(nodes):
        chunks = range(owner * made.shard, (owner + 1) * made.shard)
        pieces = [list(some) for _, some in itertools.groupby(chunks, carried.__getitem__)]
        swaps = range(len(pieces) - 1)
        orders = [[*pieces[:at], pieces[at + 1], pieces[at], *pieces[at + 2 :]] for at in swaps]
        for order in [pieces[::-1], *orders]:
            yield dict(zip(itertools.chain(*order), chunks, strict=True))


@pytest.mark.floor(several=20)
def test_no_order_beside_it_has_fewer_runs() -> None:
    for seed in range(12):
        random = np.random.default_rng(seed)
        rows = gather_rows(random, random_digraph(random, 5, 2), 6)
        made = layout(make("allgather", 5, 6, rows, steps=max(row[0] for row in rows)))
        now = runs(made, {})
        for moved in beside(made, 5):
            assert runs(made, moved) >= now
            reached("several")


@pytest.mark.parametrize("seed", range(4))
def test_what_is_too_fine_is_refused_before_it_is_laid_out(seed: int) -> None:
    random = np.random.default_rng(seed)
    rows = gather_rows(random, random_digraph(random, 5, 2), 10**6 + 3)
    with pytest.raises(TooLargeError):
        layout(make("allgather", 5, 10**6 + 3, rows, steps=max(row[0] for row in rows)))

"""Latencies as people give them."""

from __future__ import annotations

from fractions import Fraction

import pytest

from topodesign.base.errors import UnitError
from topodesign.base.latency import HOP, USUAL
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.latencies import as_latency, latency_words
from topodesign.fabrics.presets import build_fabric
from topodesign.graphs.torus import torus


def test_what_is_not_given_is_the_usual() -> None:
    assert as_latency() == USUAL
    assert as_latency("2us", "3us", 0).of_step(2, 5) == Fraction(5, 10**6)
    assert as_latency(hop=Fraction(1, 3)).hop == Fraction(1, 3)
    with pytest.raises(UnitError):
        as_latency(gap="soon")


def test_links_with_latencies_of_their_own_have_no_hops_beside() -> None:
    own = as_latency("fabric")
    assert own.alpha is None
    assert (own.gap, own.hop) == (USUAL.gap, Fraction(0))
    assert as_latency("fabric", hop=HOP).hop == HOP


def test_words_are_of_what_counts() -> None:
    switched, wired = build_fabric("fat_tree(2,2,2)"), Fabric.from_topology(torus(3, 3))
    assert latency_words(USUAL, wired) == "alpha 10us"
    assert latency_words(USUAL, switched) == "alpha 10us, gap 200ns, hop 300ns"
    assert latency_words(as_latency("fabric"), switched) == "the fabric's own latencies, gap 200ns"

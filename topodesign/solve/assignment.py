"""Guesses at assignments that are hard to find exactly; what they are worth, whoever asks computes."""

from __future__ import annotations

from typing import Any

import numpy as np

from topodesign.topology.topology import IntArray


def guess_places(traffic: Any, distance: Any, rng: np.random.Generator) -> IntArray:
    """Return a place for each of n things, such that the sum of traffic times distance over all pairs is small.

    It is a permutation, by the fast approximate algorithm of Vogelstein et al. (2015), and seldom the best one.
    """
    from scipy.optimize import quadratic_assignment  # noqa: PLC0415  heavy

    found = quadratic_assignment(traffic.astype(float), distance.astype(float), options={"rng": rng})
    places: IntArray = found.col_ind.astype(np.int64)
    return places

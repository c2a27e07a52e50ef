"""Groups whose elements are numbered so that multiplying by one of them rotates whole cosets of a cyclic subgroup."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from topodesign.algebra.groups import Group, group
from topodesign.base.spec import Spec
from topodesign.search.screening_kernels import LANES, WORD, Turns
from topodesign.topology.topology import IntArray


@dataclass(frozen=True, eq=False)
class Numbered:
    """A group with new numbers for its elements, along the cosets Ht of a cyclic subgroup H.

    Attributes
    ----------
    base
        The group.
    element, number
        The group's own number of each element, and the other way round; the identity is 0 in both.
    turns
        Multiplication by each element, coset by coset.
    inverse
        Of each element.
    """

    base: Group
    element: IntArray
    number: IntArray
    turns: Turns
    inverse: IntArray

    def image(self, permutation: IntArray) -> IntArray:
        """Return a permutation of the group's own numbers as one of the new numbers."""
        return self.number[permutation[self.element]]


@functools.lru_cache(maxsize=128)
def numbered(spec: Spec) -> Numbered:
    """Give the i-th element of coset t the number t*n + i.

    With H = {h^0, h^1, ..., h^(n-1)} the i-th element of the coset of t is h^i t. If t x = h^j t', then h^i t x =
    h^(i+j) t': multiplying by x rotates the coset of t by j places and makes it that of t'. This holds in every group,
    for every cyclic subgroup. A large one makes few rotations, one of at most 64 elements quick ones, of one word.
    """
    base = group(spec)
    elements = base.elements()
    orders = np.zeros(base.order, dtype=np.int64)
    for divisor in (one for one in range(1, base.order + 1) if base.order % one == 0):
        orders[(orders == 0) & (_power(base, elements, divisor) == 0)] = divisor
    size = min(np.unique(orders).tolist(), key=lambda one: (_work(one) / one, -one))
    generator = elements[np.argmax(orders == size) :][:1]
    subgroup = np.zeros(1, dtype=np.int64)
    while len(subgroup) < size:
        subgroup = np.concatenate((subgroup, base.multiply(_power(base, generator, len(subgroup)), subgroup)))[:size]
    number = np.full(base.order, -1, dtype=np.int64)
    heads: list[int] = []
    for element in elements.tolist():
        if number[element] < 0:
            number[base.multiply(subgroup, np.int64(element))] = np.arange(size) + len(heads) * size  # type: ignore[arg-type]
            heads.append(element)
    element = np.argsort(number)
    coset, turn = np.divmod(number[base.multiply(np.array(heads)[None, :], element[:, None])], size)
    turns = Turns(coset.astype(np.int32), turn.astype(np.int32), size)
    return Numbered(base, element, number, turns, number[_power(base, element, base.order - 1)])


def _work(size: int) -> int:
    """Return about what rotating a coset of so many elements takes, in fifths of what one word takes."""
    return 5 if size <= WORD else 8 + 2 * -(-size // (LANES * WORD))


def _power(base: Group, elements: IntArray, exponent: int) -> IntArray:
    """Return powers by repeated squaring."""
    result, square = np.zeros_like(elements), elements
    while exponent:
        if exponent & 1:
            result = base.multiply(result, square)
        square, exponent = base.multiply(square, square), exponent >> 1
    return result

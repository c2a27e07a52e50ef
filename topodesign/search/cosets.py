"""Groups numbered so that a multiplication rotates cosets.

Whole cosets of a cyclic subgroup.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from topodesign.base.spec import Spec
from topodesign.search.screening_kernels import LANES, WORD, Turns
from topodesign.topology.groups import Group, group
from topodesign.topology.topology import IntArray

_LARGE, _MANY, _FEW = 2048, 128, 6
"""Order from which on tables can take a hundred megabytes, and how many others, and such, are kept in memory."""


@dataclass(frozen=True, eq=False)
class CosetNumbering:
    """A group renumbered along the cosets Ht of a cyclic subgroup H.

    * ``element``, ``number``: the group's own number of each element, and the other way round; the identity is 0 in
      both.
    """

    base: Group  # the group
    element: IntArray
    number: IntArray
    turns: Turns  # multiplication by each element, coset by coset
    inverse: IntArray  # of each element

    def image(self, permutation: IntArray) -> IntArray:
        """Return a permutation of the group's numbers in the new numbers."""
        return self.number[permutation[self.element]]


def number_group(spec: Spec) -> CosetNumbering:
    """Return a group numbered along cosets of a cyclic subgroup.

    Few large ones are kept in memory.
    """
    base = group(spec)
    return (_few_numbered if base.order > _LARGE else _many_numbered)(spec)


def _number_elements(spec: Spec) -> CosetNumbering:
    """Give the i-th element of coset t the number t*n + i.

    With H = {h^0, h^1, ..., h^(n-1)} the i-th element of the coset of t is h^i t. If t x = h^j t', then h^i t x =
    h^(i+j) t': multiplying by x rotates the coset of t by j places and makes it that of t'. This holds in every group,
    for every cyclic subgroup. A large one makes few rotations, one of at most 64 elements quick ones, of one word.
    """
    base = group(spec)
    elements = base.elements()
    orders = _orders(base, elements)
    size = min(np.unique(orders).tolist(), key=lambda one: (_work(one) / one, -one))
    generator = elements[np.argmax(orders == size) :][:1]
    subgroup = np.zeros(1, dtype=np.int64)
    while len(subgroup) < size:
        subgroup = np.concatenate((subgroup, base.multiply(_power(base, generator, len(subgroup)), subgroup)))[:size]
    first, step, known = elements, generator, 1  # the least element of every coset, looking at more and more of it
    while known < size:
        first = np.minimum(first, first[base.multiply(step, elements)])
        step, known = base.multiply(step, step), 2 * known
    tops = np.flatnonzero(first == elements)
    number = np.empty(base.order, dtype=np.int64)
    number[base.multiply(subgroup[None, :], tops[:, None]).ravel()] = elements
    element = np.argsort(number)
    coset, turn = (np.empty((base.order, len(tops)), dtype=np.int32) for _ in range(2))
    number32, backs = number.astype(np.int32), _power(base, tops, base.order - 1)
    coset_of, turn_of = np.divmod(number32[base.multiply(tops, generator)], size)  # what multiplying by h does
    here, turned = np.divmod(number32[base.multiply(tops[None, :], backs[:, None])], size)
    for at in range(size):  # every element is the inverse of a head, times a power of h
        rows = number[base.multiply(backs, subgroup[at : at + 1])]
        coset[rows], turn[rows] = here, turned
        turned += turn_of[here]
        turned[turned >= size] -= size
        here = coset_of[here]
    turns = Turns(coset, turn, size)
    return CosetNumbering(base, element, number, turns, number[_power(base, element, base.order - 1)])


_many_numbered = functools.lru_cache(_MANY)(_number_elements)
_few_numbered = functools.lru_cache(_FEW)(_number_elements)


def _work(size: int) -> int:
    """Return the relative work of rotating a coset."""
    return 5 if size <= WORD else 8 + 2 * -(-size // (LANES * WORD))


def _orders(base: Group, elements: IntArray) -> IntArray:
    """Return the orders of elements, prime by prime of the group's order."""
    orders, left, prime = np.ones_like(elements), base.order, 1
    while left > 1:
        prime, share = prime + 1, 1
        while left % prime == 0:
            share, left = share * prime, left // prime
        if share == 1:
            continue
        power = _power(base, elements, base.order // share)
        while share > 1:
            orders[power != 0] *= prime
            power, share = _power(base, power, prime), share // prime
    return orders


def _power(base: Group, elements: IntArray, exponent: int) -> IntArray:
    """Return powers by repeated squaring."""
    result, square = np.zeros_like(elements), elements
    while exponent:
        if exponent & 1:
            result = base.multiply(result, square)
        square, exponent = base.multiply(square, square), exponent >> 1
    return result

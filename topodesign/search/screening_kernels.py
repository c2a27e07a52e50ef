"""Compiled screening of voltage lifts by bitset breadth-first search.

It counts nodes that are out of reach.

Elements of the group are numbered along the cosets of a cyclic subgroup of n elements, t*n + i being the i-th of coset
t, so that multiplying a whole coset by an element rotates it and puts it in place of another: a breadth-first search
holds a coset in n bits and takes one rotation for each link and coset where others look at n links. Which coset goes
where, and how far it turns, is the same wherever a search starts. So one from each of several orbits is made at the
same time, word by word beside each other, and a rotation takes one run of words, which the machine handles several at
a time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import Ints, Masks, compile_kernel, inline_kernel

WORD = 64  # bits of a word
LANES = 4  # words that a machine handles at a time; runs of words are multiples of it
SOURCES = 16  # searches that are made at the same time, at most

_ROTATION, _WORDS = 2, 4  # what a rotation takes, as many links looked at; and words that add one to it


class Turns(NamedTuple):
    """Multiplications by all elements of a group, coset by coset.

    * ``coset``, ``turn``: multiplied by element e, coset t becomes coset ``coset[e, t]`` and moves on by ``turn[e, t]``
      places, shape ``(k, k/n)``.
    """

    coset: NDArray[np.int32]
    turn: NDArray[np.int32]
    size: int  # n


class Field(NamedTuple):
    """Sets of nodes that one search after another writes over.

    A coset is a row of words: word by word that of each search, and some more up to a multiple of LANES.
    """

    reached: Masks  # what is reached, and then within one more step
    before: Masks  # what was reached before that: where a coset has several words twice in a row, and one more word
    mask: Masks  # which bits of a row are nodes
    sources: int  # searches that are made at the same time


@compile_kernel
def field_of(turns: Turns, orbits: int) -> Field:
    """Return room for searches in a lift with so many orbits."""
    batches = (orbits + SOURCES - 1) // SOURCES
    sources = (orbits + batches - 1) // batches
    words = (turns.size + WORD - 1) // WORD
    row = words * sources
    if row > 1:
        row = (row + LANES - 1) // LANES * LANES
    cosets = orbits * turns.coset.shape[1]
    mask = np.zeros(row, np.uint64)
    for w in range(words * sources):
        mask[w] = ~np.uint64(0)
    if turns.size % WORD:
        for w in range((words - 1) * sources, words * sources):
            mask[w] = ~np.uint64(0) >> np.uint64(WORD - turns.size % WORD)
    twice = row if words == 1 else (2 * words + 1) * sources
    return Field(np.zeros(cosets * row, np.uint64), np.zeros(cosets * twice + LANES, np.uint64), mask, sources)


@compile_kernel
def work_of_screening(turns: Turns, orbits: int, degree: int, depth: int) -> int:
    """Return the estimated work of screening a lift to a depth, in links."""
    field = field_of(turns, orbits)
    batches = (orbits + field.sources - 1) // field.sources
    rotations = batches * depth * degree * orbits * len(turns.coset[0])
    return rotations * (_ROTATION + len(field.mask) // _WORDS)


@compile_kernel
def ones(word: np.uint64) -> int:
    """Return the number of ones of 64 bits."""
    word -= word >> np.uint64(1) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + (word >> np.uint64(2) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))  # type: ignore[return-value]


@inline_kernel
def _count(reached: Masks, mask: Masks) -> int:
    """Clear bits that are no nodes, and return the rest's number."""
    row, total = np.uint64(len(mask)), 0
    for first in range(np.uint64(0), np.uint64(len(reached)), row):
        for w in range(row):
            word = reached[first + w] & mask[w]
            reached[first + w] = word
            total += ones(word)
    return total


@inline_kernel
def _copy_twice(reached: Masks, before: Masks, size: int, row: int, sources: int) -> None:
    """Copy each coset twice, so that any rotation is a window of words."""
    words = (size + WORD - 1) // WORD
    run, twice, next_word = np.uint64(words * sources), np.uint64((2 * words + 1) * sources), np.uint64(sources)
    again, left = np.uint64(size // WORD * sources), np.uint64(size % WORD)
    right = np.uint64(WORD - 1) - left
    start = np.uint64(0)
    for first in range(np.uint64(0), np.uint64(len(reached)), np.uint64(row)):
        for w in range(run):
            before[start + w] = reached[first + w]
        for w in range(run, twice):
            before[start + w] = np.uint64(0)
        for w in range(run):
            before[start + again + w] |= reached[first + w] << left
        for w in range(run):
            before[start + again + next_word + w] |= reached[first + w] >> np.uint64(1) >> right
        start += twice


@inline_kernel
def _step(field: Field, head: Ints, voltage: Ints, turns: Turns, degree: int) -> None:
    """Advance one step: reached nodes, and the targets of their links."""
    reached, before, mask, sources = field
    cosets, row = turns.coset.shape[1], len(mask)
    _copy_twice(reached, before, turns.size, row, sources)
    twice, next_word, one = (2 * ((turns.size + WORD - 1) // WORD) + 1) * sources, np.uint64(sources), np.uint64(1)
    for orbit in range(len(head) // degree):
        for place in range(cosets):
            start = (orbit * cosets + place) * twice
            for link in range(orbit * degree, orbit * degree + degree):
                element = voltage[link]
                offset = turns.size - turns.turn[element, place]
                first = np.uint64(start + (offset >> 6) * sources)
                to = np.uint64((head[link] * cosets + turns.coset[element, place]) * row)
                right = np.uint64(offset & 63)
                left = np.uint64(63) - right
                for w in range(np.uint64(row)):
                    reached[to + w] |= before[first + w] >> right | before[first + next_word + w] << one << left


@inline_kernel
def _step_by_words(field: Field, head: Ints, voltage: Ints, turns: Turns, degree: int) -> None:
    """Advance one step where a coset fits into one word."""
    reached, before, mask, _ = field
    cosets, row, top = turns.coset.shape[1], len(mask), np.uint64(turns.size - 1)
    for w in range(len(reached)):
        before[w] = reached[w]
    for orbit in range(len(head) // degree):
        for place in range(cosets):
            start = (orbit * cosets + place) * row
            if row == 1 and not before[start]:
                continue
            first = np.uint64(start)
            for link in range(orbit * degree, orbit * degree + degree):
                element = voltage[link]
                to = np.uint64((head[link] * cosets + turns.coset[element, place]) * row)
                left = np.uint64(turns.turn[element, place])
                for w in range(np.uint64(row)):
                    word = before[first + w]
                    reached[to + w] |= word << left | word >> (top - left) >> np.uint64(1)


@inline_kernel
def _promising(found: int, fresh: int, nodes: int, growth: int, further: int, spare: int) -> bool:
    """Return whether the misses may fall to ``spare`` in the layers left."""
    for _ in range(further):
        fresh *= growth
        found += fresh
        if found >= nodes or not fresh:
            break
    return nodes - found <= spare


@compile_kernel
def _lost(
    first: int, head: Ints, voltage: Ints, degree: int, growth: int, turns: Turns, depth: int, spare: int, field: Field
) -> tuple[int, int]:
    """Do what :func:`screen` does for some orbits, from one on."""
    reached, _, mask, sources = field
    cosets, row = turns.coset.shape[1], len(mask)
    together = min(sources, len(head) // degree - first)
    nodes = together * (len(reached) // row) * turns.size
    for w in range(len(reached)):
        reached[w] = np.uint64(0)
    for source in range(together):
        orbit = first + source
        reached[orbit * cosets * row + source] = np.uint64(1)
        for link in range(orbit * degree, orbit * degree + degree):
            turn = turns.turn[voltage[link], 0]
            word = (head[link] * cosets + turns.coset[voltage[link], 0]) * row + (turn >> 6) * sources + source
            reached[word] |= np.uint64(1) << np.uint64(turn & 63)
    last, found, x = together, _count(reached, mask), 1
    while x < depth and last < found < nodes and _promising(found, found - last, nodes, growth, depth - x, spare):
        x += 1
        if turns.size <= WORD:
            _step_by_words(field, head, voltage, turns, degree)
        else:
            _step(field, head, voltage, turns, degree)
        last, found = found, _count(reached, mask)
    lost = nodes - found
    return (lost if lost <= spare else -1), x


@compile_kernel
def screen(
    head: Ints, voltage: Ints, degree: int, growth: int, turns: Turns, depth: int, spare: int, field: Field
) -> tuple[int, int, int]:
    """Return nodes out of reach of orbit representatives, steps and work.

    * ``head``, ``voltage``: of the links of the base, shape ``(m*d,)``; the first d are those of orbit 0, and so on.
    * ``degree``, ``growth``: d, and how many nodes at most are one step behind each of the last layer: d, or d - 1 if
      duplex.
    * ``turns``: the group.
    * ``depth``: at least 1.
    * ``spare``: nodes that may be missed.
    * ``field``: room, as :func:`field_of` returns it.

    Returns: how many nodes are missed, -1 if that is certain to be more than are spare; after how many steps that was
    known, which for 0 is the diameter; and about how many links others would have looked at in that time.
    """
    orbits, missing, far, work = len(head) // degree, 0, 0, 0
    each = len(head) * turns.coset.shape[1] * (_ROTATION + len(field.mask) // _WORDS)
    for first in range(0, orbits, field.sources):
        lost, steps = _lost(first, head, voltage, degree, growth, turns, depth, spare - missing, field)
        work += steps * each
        far = max(far, steps)
        if lost < 0:
            return -1, far, work
        missing += lost
    return missing, far, work

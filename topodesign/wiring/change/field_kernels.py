"""Compiled search for fields of panels in which links have a free fibre at both ends.

An edge colouring: links are edges between keys (a host and the side of its fibres), fields are colours, and a key has
room for a given number of links of each colour. A link whose two keys have room only in different colours gets some by
moving other links between two colours along an alternating path, as in the proof of König's theorem.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from topodesign.base.compiled import LARGEST, Ints, Masks, compiled, next_random, tiered

_TRIES = 4
_FAR = 2**32  # a stray weighs more than any path is long


class Fields(NamedTuple):
    """Links in fields, changed in place.

    ``ends``: the two keys of each link, shape ``(links, 2)``. ``home``: the field that a link costs nothing in, -1 if
    any. ``field``: the field it is in, -1 if in none yet. ``room``: how many more links a key can take in a field,
    shape ``(keys, fields)``. ``at``: links of a key in a field, shape ``(keys, fields, most + 1)``, of which the first
    ``size`` are in use. ``size``: how many, shape ``(keys, fields)``.
    """

    ends: Ints
    home: Ints
    field: Ints
    room: Ints
    at: Ints
    size: Ints


@tiered(lambda *_: 1)
def put(fields: Fields, link: int, field: int) -> None:
    """Move a link to a field, or from one to none (-1)."""
    old = fields.field[link]
    for key in fields.ends[link]:
        if old >= 0:
            last = fields.size[key, old] - 1
            row = fields.at[key, old]
            for place in range(last):
                if row[place] == link:
                    row[place] = row[last]
                    break
            fields.size[key, old] = last
            fields.room[key, old] += 1
        if field >= 0:
            fields.at[key, field, fields.size[key, field]] = link
            fields.size[key, field] += 1
            fields.room[key, field] -= 1
    fields.field[link] = field


@compiled
def _alternate(fields: Fields, start: int, full: int, other: int, path: Ints, mark: Ints, seed: Masks) -> int:
    """Move a link of a key out of a full field, and so on; return the length of the path, negative if it ends badly."""
    key, length = start, 0
    while True:
        row, count = fields.at[key, full], fields.size[key, full]
        shift = np.int64(next_random(seed) % np.uint64(max(count, 1)))
        link = -1
        for place in range(count):
            candidate = row[(place + shift) % count]
            if mark[candidate] == 0 and (link < 0 or fields.home[candidate] != full):
                link = candidate
        if link < 0:
            break
        mark[link] = 1
        path[length] = link
        length += 1
        put(fields, link, other)
        key = fields.ends[link, 0] + fields.ends[link, 1] - key
        if fields.room[key, other] >= 0:
            break
        full, other = other, full
    for step in range(length):
        mark[path[step]] = 0
    return length if length and fields.room[key].min() >= 0 else -length


@compiled
def _undo(fields: Fields, path: Ints, length: int, first: int, second: int) -> None:
    for step in range(length - 1, -1, -1):
        put(fields, path[step], first + second - fields.field[path[step]])


@compiled
def _strays(fields: Fields, path: Ints, length: int) -> int:
    """Return how many links of a path are not at home."""
    count = 0
    for step in range(length):
        count += _astray(fields, path[step], fields.field[path[step]])
    return count


@compiled
def _astray(fields: Fields, link: int, field: int) -> int:
    return 1 if fields.home[link] >= 0 and fields.home[link] != field else 0


@compiled
def _place(fields: Fields, link: int, path: Ints, best_path: Ints, mark: Ints, seed: Masks) -> bool:
    """Find a field for a link that is in none, at the price of as few strays as possible."""
    number = fields.room.shape[1]
    a, b = fields.ends[link]
    best, best_length, best_full, best_other = LARGEST, 0, -1, -1
    for field in range(number):
        if fields.room[a, field] > 0 and fields.room[b, field] > 0 and _astray(fields, link, field) * _FAR < best:
            best, best_full, best_other = _astray(fields, link, field) * _FAR, field, field
    for one in range(number):
        for two in range(number):
            if best == 0 or fields.room[a, one] <= 0 or fields.room[b, two] <= 0:
                continue
            for attempt in range(2 * _TRIES):
                start, full, other = (b, one, two) if attempt % 2 == 0 else (a, two, one)
                length = _alternate(fields, start, full, other, path, mark, seed)
                steps = abs(length)
                fits = length > 0 and fields.room[a, full] > 0 and fields.room[b, full] > 0
                strays = _astray(fields, link, full) + _strays(fields, path, steps)
                _undo(fields, path, steps, one, two)
                cost = (strays - _strays(fields, path, steps)) * _FAR + steps
                if fits and cost < best:
                    best, best_length, best_full, best_other = cost, steps, full, other
                    best_path[:steps] = path[:steps]
    if best_full < 0:
        return False
    for step in range(best_length):
        moved = best_path[step]
        put(fields, moved, best_full + best_other - fields.field[moved])
    put(fields, link, best_full)
    return True


@tiered(lambda fields, seed: len(fields.field))
def place_all(fields: Fields, seed: Masks) -> int:
    """Find every link a field, and bring home what can be; return the first for which none is found, -1 if all have."""
    links = len(fields.field)
    path, best_path = np.empty(links, dtype=np.int64), np.empty(links, dtype=np.int64)
    mark = np.zeros(links, dtype=np.int64)
    for link in range(links):
        if fields.field[link] < 0 and not _place(fields, link, path, best_path, mark, seed):
            return link
    everything = np.arange(links)
    strays, before = _strays(fields, everything, links), links + 1
    while strays < before:
        before = strays
        for link in range(links):
            if _astray(fields, link, fields.field[link]):
                put(fields, link, -1)
                _place(fields, link, path, best_path, mark, seed)  # where it was, there is room
        strays = _strays(fields, everything, links)
    return -1

"""Words in messages: lists, counts with nouns, articles, suggestions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

MAX_LISTED = 4  # words that a list in a sentence shows
_MAX_KNOWN = 32  # known words that a message lists where none is near
_LONGEST_WORD = 64  # letters of a word that are looked at: more take long, and are no slip
_LIKE = 0.5  # share of letters that a known word has in common with one that may stand for it


def join_words(words: list[str]) -> str:
    """Join words with commas and "and".

    Of many, show the first and count the rest.
    """
    if len(words) > MAX_LISTED:
        words = [*words[: MAX_LISTED - 1], f"{len(words) - MAX_LISTED + 1} more"]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def count_noun(number: int, one: str, several: str | None = None) -> str:
    """Return a count with its noun: ``1 switch``, ``4 switches``.

    The plural of most words has an s.
    """
    return f"{number} {one if number == 1 else several or f'{one}s'}"


def with_article(noun: object) -> str:
    """Return a noun with its indefinite article: ``an all-to-all``."""
    return f"{'an' if str(noun)[:1] in 'aeiou' else 'a'} {noun}"


def nearest(word: object, known: Iterable[str], most: int = 3, like: float = _LIKE) -> list[str]:
    """Return the known words nearest to a word, ignoring capitals.

    Examples
    --------
    >>> nearest("Tors", ["ring", "torus", "torus3d"])
    ['torus', 'torus3d']
    """
    if not isinstance(word, str):
        return []
    meant = word[:_LONGEST_WORD].lower()
    letters, found = Counter(meant), []
    for name in dict.fromkeys(known):
        other = name.lower()
        longest = max(len(meant), len(other))
        most_edits = round((1 - like) * longest)
        if longest - sum((letters & Counter(other)).values()) <= most_edits:  # no fewer edits than letters that differ
            edits = _count_edits(meant, other)
            if edits <= most_edits and edits < longest:
                found.append((edits, _number_value(meant) != _number_value(other), name))
    found.sort(key=lambda one: one[:2])
    if found and found[0][0] and not found[0][1] and _number_value(meant) != meant:  # C0001 is C001, not also C002
        found = [one for one in found if not one[1]]
    return [name for _, _, name in found[:most]]


def _count_edits(one: str, other: str) -> int:
    """Return the edit distance, with exchanges of neighbouring letters."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one):
        above, row = row, [i + 1]
        for j, wanted in enumerate(other):
            edits = min(above[j] + (letter != wanted), above[j + 1] + 1, row[j] + 1)
            if i and j and letter == other[j - 1] and one[i - 1] == wanted:
                edits = min(edits, before[j - 1] + 1)
            row.append(edits)
        before = above
    return row[-1]


def _number_value(name: str) -> str:
    """Return a name without leading zeros in its numbers."""
    return re.sub(r"(?<![0-9])0+(?=[0-9])", "", name)


def suggest(
    word: object, known: Iterable[str], otherwise: str | None = None, *, most: int = 3, like: float = _LIKE
) -> str:
    """Return a suggestion of known words, for the end of a message.

    Examples
    --------
    >>> suggest("tors", ["ring", "torus", "torus3d"])
    "did you mean 'torus' or 'torus3d'?"
    >>> suggest("qqq", ["ring", "torus"])
    'known are ring, torus'
    """
    words = list(known)
    near = nearest(word, words, most, like)
    if near:
        return f"did you mean {' or '.join(map(repr, near))}?"
    if otherwise is not None:
        return otherwise
    more = len(words) - _MAX_KNOWN
    return f"known are {', '.join(words[:_MAX_KNOWN])}{f' and {more} more' if more > 0 else ''}"

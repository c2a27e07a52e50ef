"""Words in messages: lists, counts with nouns, articles, suggestions."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

MOST_LISTED = 4  # words that a list in a sentence shows
_MOST_KNOWN = 32  # known words that a message lists where none is near
_LONGEST_WORD = 64  # letters of a word that are looked at: more take long, and are no slip
_LIKE = 0.5  # how like a known word is to one that may stand for it, from 0 to 1


def listed(words: list[str]) -> str:
    """Join words with commas and "and".

    Of many, show the first and count the rest.
    """
    if len(words) > MOST_LISTED:
        words = [*words[: MOST_LISTED - 1], f"{len(words) - MOST_LISTED + 1} more"]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def counted(number: int, one: str, several: str | None = None) -> str:
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
    words = {one.lower(): one for one in reversed(list(known))}
    return [words[one] for one in get_close_matches(word[:_LONGEST_WORD].lower(), words, n=most, cutoff=like)]


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
    more = len(words) - _MOST_KNOWN
    return f"known are {', '.join(words[:_MOST_KNOWN])}{f' and {more} more' if more > 0 else ''}"

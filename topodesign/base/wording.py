"""Words in messages: lists with commas, counts with their nouns, and nouns with their article."""

from __future__ import annotations

MOST_LISTED = 4
"""Words that a list in a sentence shows."""


def listed(words: list[str]) -> str:
    """Join words with commas and "and"; of many show the first and count the rest."""
    if len(words) > MOST_LISTED:
        words = [*words[: MOST_LISTED - 1], f"{len(words) - MOST_LISTED + 1} more"]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def counted(number: int, one: str, several: str | None = None) -> str:
    """Say how many: ``1 switch``, ``4 switches``; the plural of most words has an s."""
    return f"{number} {one if number == 1 else several or f'{one}s'}"


def with_article(noun: object) -> str:
    """Return a noun with its indefinite article: ``an all-to-all``, ``a reduce-scatter``."""
    return f"{'an' if str(noun)[:1] in 'aeiou' else 'a'} {noun}"

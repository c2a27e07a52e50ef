"""Figures in documents, pages and texts, so that those of one can be looked for in another."""

from __future__ import annotations

from typing import Any


def numbers(value: Any) -> set[float]:
    """All numbers of a JSON document."""
    if isinstance(value, dict):
        return set().union(*map(numbers, value.values())) if value else set()
    if isinstance(value, list | tuple):
        return set().union(*map(numbers, value)) if value else set()
    return {float(value)} if isinstance(value, int | float) and not isinstance(value, bool) else set()

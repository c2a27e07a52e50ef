"""Prices of links as text: ``900`` for one more of the same bandwidth, ``900/25GB/s`` for so much more bandwidth."""

from __future__ import annotations

import re
from fractions import Fraction

from topodesign.base.errors import UnitError
from topodesign.base.units import exact_rate, parse_bandwidth
from topodesign.fabrics.fabric import Price

_PRICE = re.compile(r"\s*([0-9]{1,12}(?:\.[0-9]{1,6})?)\s*(?:/(.+))?", re.DOTALL)


def parse_price(text: str) -> Price:
    """Return what a text says.

    Examples
    --------
    >>> parse_price("900").cost
    Fraction(900, 1)
    >>> format_price(parse_price("12.50/200Gbps"))
    '12.5/25GB/s'
    """
    match = _PRICE.fullmatch(text)
    if match is None:
        raise UnitError(f"a price is a number, or one for a bandwidth as 900/25GB/s, not {text[:50]!r}")
    return Price(Fraction(match[1]), None if match[2] is None else parse_bandwidth(match[2]) / 8)


def format_price(price: Price) -> str:
    """Write a price exactly, as :func:`parse_price` reads it."""
    whole, decimals = divmod(int(price.cost * 10**6), 10**6)
    cost = f"{whole}.{decimals:06d}".rstrip("0").rstrip(".")
    return cost if price.step is None else f"{cost}/{exact_rate(price.step)}"

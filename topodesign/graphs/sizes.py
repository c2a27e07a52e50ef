"""Integer powers, roots and binomials: node counts are refused before they grow larger than anything that is built."""

from __future__ import annotations

from bisect import bisect_right

from topodesign.base.errors import TooLargeError
from topodesign.topology.topology import MAX_LINKS


def power(base: int, exponent: int) -> int:
    """Return base^exponent (base >= 1, exponent >= 0)."""
    value = 1
    for _ in range(exponent if base > 1 else 0):
        value *= base
        if value > MAX_LINKS:
            raise TooLargeError(f"{base}^{exponent} is too large to build (at most {MAX_LINKS} links)")
    return value


def binomial(n: int, k: int) -> int:
    """Return the number of k-element subsets of n elements (0 <= k <= n)."""
    value = 1
    for i in range(min(k, n - k)):
        value = value * (n - i) // (i + 1)
        if value > MAX_LINKS:
            raise TooLargeError(f"the {k}-subsets of {n} elements are too many to build (at most {MAX_LINKS} links)")
    return value


def integer_root(value: int, exponent: int) -> int:
    """Return the largest integer whose power is at most ``value`` (value >= 0, exponent >= 1)."""
    above = 1 << (value.bit_length() // exponent + 1)
    return bisect_right(range(above), value, key=lambda root: root**exponent) - 1

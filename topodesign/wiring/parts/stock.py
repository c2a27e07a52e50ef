"""How many spares to have of what fails: enough that none is lacking until the next ones are there.

Pieces fail independently at a constant rate, and each that is taken from the stock is ordered again at once; so what is
on order is Poisson distributed with the failures in a lead time as its mean, however long deliveries vary (C. Palm,
1938: a queue in which nobody waits for a server).
The stock lasts if no more are on order than it has. Whether that is likely enough is decided exactly: the exponential
is held between two fractions, which come nearer until it is certain.
"""

from __future__ import annotations

import math
from fractions import Fraction

HOURS_A_YEAR = 8766
_PER_FIT = 10**9  # hours that a FIT is a failure in


def failures(count: int, fit: Fraction, hours: int) -> Fraction:
    """Return how many of some pieces fail in so many hours, on the average."""
    return count * fit * hours / _PER_FIT


def least_stock(mean: Fraction, share: Fraction) -> int:
    """Return the fewest spares with which, with at least some probability below 1, no more are on order.

    Examples
    --------
    >>> least_stock(Fraction(1, 100), Fraction(99, 100)), least_stock(Fraction(1, 3), Fraction(99, 100))
    (0, 2)
    """
    stock, term, total = 0, Fraction(1), Fraction(1)
    while not _likely(total, mean, share):
        stock += 1
        term *= mean / stock
        total += term
    return stock


def _likely(total: Fraction, mean: Fraction, share: Fraction) -> bool:
    """Return whether ``total * exp(-mean) >= share``."""
    low, term, place = Fraction(1), Fraction(1), 0
    while True:
        place += 1
        term *= mean / place
        low += term
        if total < share * low:
            return False
        if place + 1 > mean and total >= share * (low + term * mean / (place + 1 - mean)):
            return True


def missing(mean: Fraction, stock: int) -> float:
    """Return how many pieces wait for a spare at any time, on the average: about, in floats."""
    x = float(mean)
    chance, waiting = math.exp(-x), x - stock
    for number in range(stock):
        waiting += (stock - number) * chance
        chance *= x / (number + 1)
    return max(waiting, 0.0)

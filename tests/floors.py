"""Floors on what a test has really looked at: a random sample that does not fit must not pass for one that was checked.

A test of random samples that can end without its main check is marked with the least number of samples that have to
reach it, by name, and says where it does::

    @given(...)
    @pytest.mark.floor(read=20, refused=5)
    def test_damaged_files(...):
        try:
            topology = read_topology(path)
        except FileFormatError:
            reached("refused")
            return
        assert ...
        reached("read")

What a sample has to satisfy to be one at all is given to ``assume`` instead: Hypothesis then draws another and gives up
loudly where hardly any fits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

counted: Counter[str] = Counter()
"""How often each check of the test that is running was reached; emptied before every test."""


def reached(check: str) -> None:
    """Count a sample that got so far."""
    counted[check] += 1


def shortfall(floors: Mapping[str, int]) -> str:
    """What is below its floor, in words; empty if nothing is, and a check without a floor is an oversight too."""
    low = [f"{check}: {counted[check]} of {least}" for check, least in floors.items() if counted[check] < least]
    loose = [f"{check}: no floor" for check in counted.keys() - floors.keys()]
    return "; ".join(low + sorted(loose))

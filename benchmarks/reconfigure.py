"""Circuits that change: all cells of N = 64, the fastest plan beside the bound, static ones and published schemes.

    python benchmarks/reconfigure.py [COLLECTIVE ...]

Of all four collectives if none is named. Prints a line for every cell: time, changes, gap to the bound, the best static
and the best published plan, and, for an all-to-all, what an enumeration of products of groups and direct circuits had
found; then the CPU time of all of it. Exit status 1 if a cell is slower than that, a scheme or what never changes, or
fewer than half of those more than 10% over their bound are faster.
"""

from __future__ import annotations

import sys
import time
from fractions import Fraction

from topodesign import reconfigure
from topodesign.base.units import format_time
from topodesign.schedulers.circuits.reconfigure import FOUND, Reconfiguration

US = Fraction(1, 10**6)
DELAYS = (0, 1, 10, 100, 1000, 10000)
BEFORE = {  # microseconds, of products of static groups and direct circuits, with fluid flows: upper bounds
    ("simplex", 1, 1): (51, 64, 119, 261, 724, 724),
    ("simplex", 1, 64): (1380, 1450, 2000, 3660, 8050, 19410),
    ("simplex", 2, 1): (48, 57, 89, 111, 111, 111),
    ("simplex", 2, 64): (1370, 1410, 1680, 3390, 5700, 6750),
    ("simplex", 4, 1): (37, 48, 63, 63, 63, 63),
    ("simplex", 4, 64): (1360, 1370, 1510, 2820, 3870, 3870),
    ("duplex", 1, 1): (51, 64, 119, 569, 5070, 50070),
    ("duplex", 1, 64): (1380, 1450, 2000, 3660, 9030, 54030),
    ("duplex", 2, 1): (48, 57, 89, 192, 368, 368),
    ("duplex", 2, 64): (1370, 1410, 1680, 3390, 6030, 15380),
    ("duplex", 4, 1): (37, 48, 66, 70, 70, 70),
    ("duplex", 4, 64): (1360, 1370, 1510, 2820, 4160, 4160),
}


def cell(cabling: str, degree: int, size: int, delay: int, collective: str) -> Reconfiguration:
    """Answer one question of the table."""
    return reconfigure(
        64,
        degree,
        collective,
        delay=delay * US,
        size=f"{size}MiB",
        alpha="1us",
        bandwidth="400Gbps",
        cabling=cabling,
    )


def main(collective: str) -> bool:
    """Print the table; return whether it is as it must be."""
    begun, slower, beaten, far, right = time.process_time(), 0, 0, 0, True
    for (cabling, degree, size), row in BEFORE.items():
        for delay, before in zip(DELAYS, row, strict=True):
            found = cell(cabling, degree, size, delay, collective)
            best, least = found.best, Fraction(found.claim.bound or 1)
            right &= all(best.time <= one.time for one in found.contenders) and least <= best.time
            static = format_time(found.static.time) if found.static else "none"
            published = next((one for one in found.contenders if one.name != FOUND and one.source), None)
            words = (
                f"{cabling} d={degree} {size}MiB {delay}us: {format_time(best.time)} R{best.changes} S{best.steps}"
                f" ({float(best.time / least):.3f}) static {static},"
                f" published {format_time(published.time) if published else 'none'}; {best.name[:44]}"
            )
            if collective == "all-to-all":
                rounding = Fraction(1, 2) if before < 1000 else 5  # three digits
                slower += best.time > (before + rounding) * US
                high = before * US > least * Fraction(11, 10)
                far += high
                beaten += high and best.time < (before - rounding) * US
                words += f"; before {before}us{' (more than 10% over)' if high else ''}"
            print(words, flush=True)
    if collective == "all-to-all":
        print(f"slower than before: {slower}; of {far} more than 10% over the bound faster: {beaten}")
    print(f"{time.process_time() - begun:.1f} CPU s")
    return right and not slower and 2 * beaten >= far


if __name__ == "__main__":
    asked = sys.argv[1:] or ("all-to-all", "allgather", "reduce-scatter", "allreduce")
    answers = [main(one) for one in asked]
    sys.exit(not all(answers))

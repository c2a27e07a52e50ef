"""Specs made wrong on purpose: names, arguments and letters changed; each is built or refused with an error of ours."""

from __future__ import annotations

import time
from collections import Counter
from random import Random

from tests.fuzz.defects import mutated
from topodesign.base import entry_points
from topodesign.base.errors import TopodesignError
from topodesign.fabrics.places import as_place

GOOD: tuple[str, ...] = (
    "circulant(12,2,3)",
    "line(circulant(16,3,4),3)",
    "torus(4,4)",
    "cayley(dihedral(4),1,5)",
    "dgx_a100(2)",
)
GOOD += ("product(complete(3),hypercube(2))", "genkautz(4,40)", "rail_optimised(2,4)", "bidirect(kautz(2,2))")
ARGUMENTS: tuple[str, ...] = (
    "-1",
    "0",
    "1",
    "2",
    "3",
    "7",
    "31",
    "999999999999",
    "9" * 30,
    "1.5",
    "x",
    "complete(3)",
    "'a'",
    "True",
)
ARGUMENTS += ("1e3", "None", "[1]", "*a", "a=1", "\u00b2", "complete(999)", "cyclic(5)", "dihedral(100000)", "()")
LONGEST = 20.0
"""Seconds of processor time that one may take: the largest that is built has a million nodes."""


def tries(count: int, seed: int) -> Counter[str]:
    """Build specs that were changed at random; count those refused and those that stand for something.

    Raises
    ------
    RuntimeError
        If one raises another error than ours, or takes too long; the message has the spec.
    """
    random, names = Random(seed), sorted([*entry_points.FAMILIES, *entry_points.EXPANSIONS])  # noqa: S311
    seen = Counter[str]()
    for number in range(count):
        if number % 2:
            spec = f"{random.choice(names)}({','.join(random.choices(ARGUMENTS, k=random.randrange(5)))})"
        else:
            spec = mutated(random.choice(GOOD).encode(), random).decode(errors="replace")
        start = time.process_time()
        try:
            as_place(spec)
        except TopodesignError as error:
            seen["refused" if str(error) else "without words"] += 1
        except Exception as error:
            raise RuntimeError(f"{spec!r}: {type(error).__name__}: {error}") from error
        else:
            seen["taken"] += 1
        if time.process_time() - start > LONGEST:
            raise RuntimeError(f"{spec!r} takes {time.process_time() - start:.1f} s")
    return seen


def text(seen: Counter[str]) -> str:
    """Return a line for the table."""
    return f"specs: {seen['refused']}/{seen.total()}"

"""Costs of data on links, as people give them: text, or by class of links."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from fractions import Fraction

from topodesign.base.errors import ParameterError
from topodesign.base.wording import suggest
from topodesign.fabrics.fabric import Fabric

MAX_COST = 10**6  # of a class of links, as the numerator or the denominator of a fraction
Costs = Mapping[str, int | float | str | Fraction] | Iterable[str]
"""Costs of a unit of data on links of a class: by its name or a pattern, or texts such as ``NVLink=1``."""


def as_costs(fabric: Fabric, costs: Costs) -> dict[str, Fraction]:
    """Return the cost of every class of links, 0 where nothing is said of it; empty if nothing is said at all."""
    pairs = list(costs.items()) if isinstance(costs, Mapping) else [_split(text) for text in _several(costs)]
    found = dict.fromkeys(fabric.classes, Fraction(0)) if pairs else {}
    for word, value in pairs:
        meant = [word] if word in found else [kind for kind in found if fnmatchcase(kind, word)]
        if not meant:
            raise ParameterError(f"no link has the class {word!r}; {suggest(word, found)}")
        found |= dict.fromkeys(meant, _cost(word, value))
    return found


def _several(costs: Iterable[str]) -> Iterable[str]:
    return [costs] if isinstance(costs, str) else costs


def _split(text: str) -> tuple[str, str]:
    word, sign, value = str(text).rpartition("=")
    if not sign:
        raise ParameterError(f"write a cost as CLASS=COST, such as NVLink=1, not {str(text)[:100]!r}")
    return word, value


def _cost(word: str, value: float | str | Fraction) -> Fraction:
    try:
        cost = Fraction(str(value)) if isinstance(value, float) else Fraction(value)
    except (ValueError, TypeError, ZeroDivisionError):
        raise ParameterError(f"the cost of {word!r} is a number, not {str(value)[:100]!r}") from None
    if cost < 0 or max(cost.numerator, cost.denominator) > MAX_COST:
        raise ParameterError(f"the cost of {word!r} is to be from 0 to {MAX_COST}, of no more digits than that")
    return cost

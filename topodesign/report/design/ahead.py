"""Ranking of contenders, their frontier, and points where the ranking changes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from fractions import Fraction

from topodesign.base.dominance import is_beaten
from topodesign.report.comparison.compare import find_change
from topodesign.report.design.measure import step_at
from topodesign.report.design.parts import ALL_SIZES, FAR, Offer, Turn
from topodesign.report.design.request import Request

_FARTHEST = 10  # factors are looked at up to 4 to this power, and down to its inverse
_HALVINGS = 14  # how often the span that a factor lies in is halved

Merit = tuple[Fraction, ...]


def merit(offer: Offer, request: Request, time: Fraction | None = None) -> Merit:
    """Return the criteria to minimise, the most important first.

    ``time`` replaces the offer's own step time in seconds.
    """
    seconds, price = offer.time if time is None else time, offer.price or Fraction(0)
    rest = (seconds, price, offer.watts or Fraction(0))
    if request.optimise == "price":
        return price, *rest
    return (seconds * price, *rest) if request.optimise == "both" else rest


def in_order(offers: Sequence[Offer], request: Request) -> list[Offer]:
    """Sort offers by the request's criterion, the refused ones last."""
    ordered = sorted(offers, key=lambda one: (one.refused is not None, *merit(one, request), len(one.name)))
    able = [figures_of(one) for one in ordered if one.refused is None]
    return [replace(one, frontier=one.refused is None and not is_beaten(figures_of(one), able)) for one in ordered]


def figures_of(one: Offer) -> Merit:
    """Return the figures for dominance: time, price and watts."""
    return one.time, one.price or Fraction(0), one.watts or Fraction(0)


def split_beaten(offers: Sequence[Offer], kept: Collection[str], request: Request) -> tuple[list[Offer], list[str]]:
    """Split offers into those a table shows and the names of others.

    Left out is what another that can be recommended beats or equals in time, money and power, the later of two alike,
    and, where time was asked for, what takes far longer; not what is shown whatever it takes, nor what has one of the
    names to keep.
    """
    able = [figures_of(one) for one in offers if one.refused is None]
    shown: list[Offer] = []
    beaten: list[str] = []
    for one in offers:
        own = figures_of(one)
        late = is_beaten(own, able) or own in [figures_of(other) for other in shown if other.refused is None]
        late = late or (request.optimise == "time" and any(own[0] >= FAR * time for time, *_ in able))
        if late and not one.shown and one.name not in kept:
            beaten.append(one.name)
        else:
            shown.append(one)
    return shown, beaten


def turns(offers: Sequence[Offer], request: Request) -> tuple[Turn, ...]:
    """Return the nearest factors at which another contender leads.

    The factors scale all sizes, or the number of runs of a collective.
    """
    able = [one for one in offers if one.refused is None]
    if request.optimise == "price" or len(able) < 2:
        return ()
    names = dict.fromkeys(share.collective for share in request.mix.shares)
    found = []
    for what in (ALL_SIZES, *(names if len(names) > 1 and request.step is None else ())):
        for above in (False, True):
            one = _turn(what, above, able, request)
            found += [] if one is None else [one]
    return tuple(found)


def _turn(what: str, above: bool, able: Sequence[Offer], request: Request) -> Turn | None:
    def first(factor: Fraction) -> str:
        size, often = (factor, {}) if what == ALL_SIZES else (Fraction(1), {what: factor})
        return min(
            able, key=lambda one: (*merit(one, request, step_at(one, request, size=size, often=often)), len(one.name))
        ).name

    now, same = first(Fraction(1)), Fraction(1)
    for _ in range(_FARTHEST):
        other = same * 4 if above else same / 4
        if first(other) != now:
            factor, then = find_change(same, other, first, _HALVINGS)
            if what == ALL_SIZES:
                at = () if request.step else tuple(factor * share.size for share in request.mix.shares)
            else:
                at = (factor * sum(share.count for share in request.mix.shares if share.collective == what),)
            return Turn(what, factor, above, at, now, then)
        same = other
    return None

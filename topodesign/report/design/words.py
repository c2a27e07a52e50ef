"""The decision for people: one screen, with the figures of its JSON document."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from topodesign.base.fitted import wrapped
from topodesign.base.records import MOST_WIDE, Table
from topodesign.base.units import format_bandwidth, format_excess, format_time, rounded_size
from topodesign.base.wording import counted, listed
from topodesign.wiring.inventory.lengths import format_metres

if TYPE_CHECKING:
    from topodesign.report.design.answer import Decision, Limit, Loss, Offer, Turn

_LEAST_NAME = 16  # letters of a name that tables show at least
ALL_SIZES = "all sizes"  # what a turn is about that is about no collective


def decision_text(found: Decision) -> str:
    """Return the decision on one screen."""
    asked, best = found.request, found.recommendation
    work = asked.work
    lines = [
        found.heading(),
        f"{asked.mix.words}; alpha {format_time(work.alpha)}, {format_bandwidth(work.bandwidth)} per node",
        "",
        found.verdict,
        *_beside(found),
        "",
    ]
    text = [line for long in lines for line in (wrapped(long, MOST_WIDE, 2) or [""])]
    text += [found.table().text(), ""]
    rest = [f"limit of {one.collective}: {one}" for one in found.limits]
    rest += [
        f"{'one cable' if len(one.links) == 1 else 'two cables'} lost: {loss_words(one, best)}"
        for one in found.failures
    ]
    rest += [
        f"grow to {one.nodes}: {counted(one.moves, 'move')} (no way has below {one.at_least}), then a step takes "
        f"{format_time(one.seconds)}: {shortened_to(one.name, 60)}"
        for one in found.growth
    ]
    rest += list(_bill(found))
    rest += [f"{str(claim)[:1].upper()}{str(claim)[1:]}." for claim in found.claims]
    rest += [f"{name} is not in the table: {why}" for name, why in found.missing]
    rest += [f"wrote {counted(len(found.files), 'file')}, listed in decision.json"] if found.files else []
    return "\n".join([*text, *(line for long in rest for line in wrapped(long, MOST_WIDE, 2))])


def _beside(found: Decision) -> Iterator[str]:
    other, best = found.runner_up, found.recommendation
    if other is None:
        yield "There is no runner-up."
        return
    yield f"Runner-up: {other.name}, {format_time(other.time)} ({over(other.time / best.time)})."
    yield from (f"{one}." for one in found.turns)


def _bill(found: Decision) -> Iterator[str]:
    bill, plan = found.bill, found.wiring
    items = [
        f"{one.count} x {one.kind}" + (f" {format_metres(one.length)} m" if one.length else "") for one in bill.items
    ]
    metres = "" if bill.metres is None else f", {format_metres(bill.metres)} m of cable"
    yield (
        f"wiring: {plan.mode}, {counted(len(plan.connects), 'cross-connect')}, checked{metres}"
        f"{f': {listed(items)}' if items else ''}"
    )


def contenders_table(found: Decision) -> Table:
    """Return the contenders, those that cannot be recommended below a line."""
    offers, best = found.contenders, found.recommendation
    priced, drawn = best.price is not None, best.watts is not None
    titles = [
        "step",
        "over",
        "cables",
        "switches",
        "survives",
        *(["price"] if priced else []),
        *(["watts"] if drawn else []),
    ]
    cells = [
        [
            format_time(one.time),
            over(one.time / best.time),
            str(one.counts.cables),
            str(one.counts.switches),
            "" if one.counts.survives is None else str(one.counts.survives),
            *([f"{float(one.price or 0):.6g}"] if priced else []),
            *([f"{float(one.watts or 0):.6g}"] if drawn else []),
        ]
        for one in offers
    ]
    widths = [max(len(title), *(len(row[place]) for row in cells)) for place, title in enumerate(titles)]
    room = max(_LEAST_NAME, MOST_WIDE - sum(width + 2 for width in widths))
    rows = tuple((*row, shortened_to(name_of(one), room)) for one, row in zip(offers, cells, strict=True))
    able = sum(one.refused is None for one in offers)
    return Table(
        "",
        (*titles, "contender"),
        rows,
        words=frozenset(("contender",)),
        spare=frozenset(("switches", "survives")),
        compared=able if able < len(offers) else None,
        footnote="below the line: what cannot be recommended" if able < len(offers) else "",
    )


def name_of(one: Offer) -> str:
    """Return what tables call a contender: its name, and what that stands for if it is another."""
    return one.name if one.spec in {None, one.name} or one.kind != "rival" else f"{one.name}: {one.spec}"


def shortened_to(text: str, width: int) -> str:
    """Return a text, or its beginning where it is too long."""
    return text if len(text) <= width else f"{text[: width - 3]}..."


def limit_words(one: Limit) -> str:
    """Return what limits a collective in a sentence without its full stop."""
    what = "steps" if one.by == "steps" else f"links; {one.full} of {one.of} are the fullest, such as {one.links[0]}"
    if one.by == "links" and not one.links:
        what = "links"
    return f"{what}; {format_time(one.seconds)}, {format_excess(one.seconds / one.least)} over the bound of any wiring"


def loss_words(one: Loss, best: Offer | None = None) -> str:
    """Return what failures cost in a sentence without its full stop."""
    if one.seconds is None:
        costs = "not all reach each other"
    else:
        more = "" if best is None else f" ({over(one.seconds / best.time)})"
        costs = f"a step takes {format_time(one.seconds)}{more}"
    among = "the worst of all" if one.all_of_them else "the worst that was found, of"
    return f"{costs}, {among} {one.looked_at}: {listed(list(one.links))}"


def turn_words(one: Turn) -> str:
    """Return where another contender is ahead, in a sentence without its full stop."""
    side = "above" if one.above else "below"
    if len(one.at) == 1 and one.what != ALL_SIZES:
        return f"{one.then} is ahead with {one.what} {side} {float(one.at[0]):.4g} times a step"
    sizes = listed([rounded_size(size) for size in one.at])
    return f"{one.then} is ahead {side} {float(one.factor):.3g} times {ALL_SIZES} ({sizes})"


def over(ratio: Fraction) -> str:
    """Return by how much something takes more, or less, than something else."""
    return format_excess(ratio) if ratio >= 1 else f"{float(ratio - 1) * 100:.1f}%"

"""The decision page: choice, reasons, rivals, failures, growth and wiring."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from topodesign.base.records import Table, shorten_text
from topodesign.base.units import format_amount, format_size, format_time
from topodesign.base.wording import count_noun
from topodesign.report.charts.decision import ahead_chart, labels, tradeoff_chart
from topodesign.report.design.answer import NOT_WORKED_OUT, Decision
from topodesign.report.design.parts import Offer, over
from topodesign.report.page.parts import (
    Choice,
    Commands,
    Document,
    Fact,
    Facts,
    Figure,
    Listing,
    Plotted,
    Racked,
    Section,
    Summary,
    Words,
)
from topodesign.report.page.topology import find_drawing
from topodesign.wiring.exports.rack_rows import find_rack_rows
from topodesign.wiring.inventory.inventory import format_metres
from topodesign.wiring.plan.plan import items_words


def decision_document(found: Decision) -> Document:
    """Return the decision page."""
    best, asked, name = found.recommendation, found.request, labels(found)[0]
    rows = None if asked.room is None else find_rack_rows(found.wiring)
    picture = find_drawing(best.place, name) if rows is None else Racked(rows)
    chart = Plotted(tradeoff_chart(found))
    sections = [
        Section("Why", (Words(_explain_choice(found)), _step(best), *([_limits(found)] if found.limits else []))),
        Section("Against the rivals", (chart, Listing(_contenders(found), named=True), *_missing(found))),
        *([] if found.runner_up is None else [Section("When another would win", _turns(found))]),
        Section("Failures", (_failures(found),)),
        *([Section("Growth", (_growth(found),))] if found.growth else []),
        Section("Wiring", (_bill(found),)),
        Section("How to run it", (_commands(found),)),
        Section("Details", (Facts(tuple(_details(found))),)),
    ]
    return Document(
        "decision",
        found.heading(),
        asked.words,
        found.verdict,
        Summary(name, best.spec or best.name, _figures(found), tuple(_price(found)), picture),
        (),
        (Choice(name, tuple(sections)),),
        0,
        found.record(),
    )


def _figures(found: Decision) -> tuple[Figure, ...]:
    best, other = found.recommendation, found.runner_up
    beside = "no other network is recommended"
    if other is not None:
        name = labels(found)[found.contenders.index(other)]
        beside = f"next best {name}: {format_time(other.time)}, {over(other.time / best.time)}"
    figures = [Figure("A step", format_time(best.time), beside)]
    cheapest = [one.price for one in found.contenders if one.refused is None and one.price is not None]
    if best.price is not None:
        figures.append(
            Figure(
                "Price", format_amount(best.price), f"all that can be recommended: from {format_amount(min(cheapest))}"
            )
        )
    else:
        figures.append(
            Figure("Cables", str(best.counts.cables), count_noun(best.counts.switches, "switch", "switches"))
        )
    worst = next((one for one in found.failures if len(one.links) == 1), None)
    if worst is None or worst.seconds is None:
        figures.append(Figure("Survives", _or_none(best.counts.survives), "links that may fail, whichever they are"))
    else:
        figures.append(Figure("With one cable lost", format_time(worst.seconds), worst.words(best)))
    return tuple(figures)


def _or_none(value: int | None) -> str:
    return "not worked out" if value is None else str(value)


def _price(found: Decision) -> Iterator[str]:
    best = found.recommendation
    number = best.counts
    yield (
        f"{count_noun(number.cables, 'cable')}, {count_noun(number.ports, 'port')} of nodes, "
        f"{count_noun(number.switches, 'switch', 'switches')}"
    )
    if best.price is not None:
        watts = "" if best.watts is None else f", {format_amount(best.watts)} watts"
        yield f"price {format_amount(best.price)}{watts}"


def _explain_choice(found: Decision) -> tuple[str, ...]:
    claims = [f"{str(claim)[:1].upper()}{str(claim)[1:]}." for claim in found.claims]
    plans = [
        f"Plan of {one.share.collective}: {one.planned_words}."
        for one in found.recommendation.parts
        if one.planned_words
    ]
    return (*(f"Limit of {one.collective}: {one}." for one in found.limits), *plans, *claims)


def _step(best: Offer) -> Listing:
    if best.step is not None:
        return Listing(replace(best.step.table(), footnote=f"{best.step.claims[0]}"))
    rows = [
        (
            one.share.collective,
            format_size(one.share.size),
            str(one.share.count),
            one.method,
            format_time(one.seconds),
            format_time(one.in_step),
            f"{float(one.in_step / best.time):.1%}",
        )
        for one in best.parts
    ]
    columns = ("collective", "size", "times", "method", "one run", "in a step", "share")
    return Listing(Table("", columns, tuple(rows), frozenset(("collective", "method"))))


def _limits(found: Decision) -> Listing:
    rows = [
        (
            one.collective,
            one.by,
            f"{one.full} of {one.of}" if one.full else "",
            format_time(one.seconds),
            format_time(one.least),
        )
        for one in found.limits
    ]
    columns = ("collective", "limited by", "fullest links", "takes", "no wiring takes less than")
    return Listing(Table("", columns, tuple(rows), frozenset(("collective", "limited by"))))


def _contenders(found: Decision) -> Table:
    """Return the table of the text, with the names of the page."""
    table = found.table()
    rows = [(*row[:-1], name) for row, name in zip(table.rows, labels(found), strict=True)]
    return replace(table, rows=tuple(rows))


def _missing(found: Decision) -> tuple[Words, ...]:
    named = zip(found.contenders, labels(found), strict=True)
    refused = [f"{name} cannot be recommended: {one.refused}." for one, name in named if one.refused]
    lines = [*refused, *(f"{one}." for one in found.absent)]
    return (Words(tuple(lines)),) if lines else ()


def _turns(found: Decision) -> tuple[Words | Plotted, ...]:
    words = Words(tuple(f"{one}." for one in found.turns) or ("No other is ahead at any size that was looked at.",))
    if found.request.optimise == "price":
        return (Words(("Price alone was asked for, which no size changes.",)),)
    chart = ahead_chart(found)
    return (words, Plotted(chart)) if len(chart.series) > 1 else (words,)


def _failures(found: Decision) -> Listing | Words:
    if not found.failures:
        survives = f"Links that may fail, whichever they are: {_or_none(found.recommendation.counts.survives)}."
        return Words((survives, f"{NOT_WORKED_OUT[0].upper()}{NOT_WORKED_OUT[1:]}."))
    best = found.recommendation
    rows = [
        (
            ", ".join(one.links),
            "not all reach each other" if one.seconds is None else format_time(one.seconds),
            "" if one.seconds is None else over(one.seconds / best.time),
            f"{'all' if one.all_of_them else 'some'}, {one.looked_at}",
        )
        for one in found.failures
    ]
    return Listing(
        Table("", ("cables lost", "a step takes", "more", "the worst of"), tuple(rows), frozenset(("cables lost",)))
    )


def _growth(found: Decision) -> Listing:
    rows = [
        (str(one.nodes), str(one.moves), str(one.at_least), format_time(one.seconds), shorten_text(one.name))
        for one in found.growth
    ]
    columns = ("nodes", "moves", "no way has below", "a step takes", "what is wired then")
    needs = "; ".join(f"{one.needs}; to buy: {items_words(one.buy)}" for one in found.growth if one.needs)
    return Listing(Table("", columns, tuple(rows), frozenset(("what is wired then",)), footnote=needs))


def _bill(found: Decision) -> Listing:
    bill, plan = found.bill, found.wiring
    rows = [
        (one.kind, "" if one.length is None else f"{format_metres(one.length)} m", str(one.count)) for one in bill.items
    ]
    metres = "" if bill.metres is None else f", {format_metres(bill.metres)} m of cable"
    note = f"{plan.mode}, {count_noun(len(plan.connects), 'cross-connect')}, checked{metres}"
    return Listing(
        Table("", ("what to buy", "length", "how many"), tuple(rows), frozenset(("what to buy",)), footnote=note)
    )


def _commands(found: Decision) -> Commands:
    best = found.recommendation
    first = f"1-{best.parts[0].share.collective}.npz" if best.parts else ""
    checks = (
        ("Check a schedule again, by a replay", f"topodesign verify DIR/{first}"),
        ("Compile it; the program is executed before it is written", f"topodesign compile DIR/{first} -o program.xml"),
    )
    return Commands((
        ("Everything for the bench and the racks, in one directory", "topodesign design REQUEST.yaml -o DIR"),
        *(checks if first else ()),
        ("Work package for those who patch", "open DIR/package.html"),
        ("Compare what is patched with the plan", "topodesign wire check DIR/wiring.json OBSERVED.csv"),
    ))  # fmt: skip


def _details(found: Decision) -> Iterator[Fact]:
    best = found.recommendation
    proof = "simulated exactly, from plans that a replay verified"
    if best.step is not None:
        proof = "computation, and prices of flows in groups of ranks"
    elif best.fabric is not None:
        proof = "prices of flows among the boxes and inside them"
    elif any(one.plan is None for one in best.parts):
        proof = "prices of the best plans known and of flows, where no plan was made"
    yield Fact("A step", f"{best.time} s", format_time(best.time), proof)
    for part in best.parts:
        what = f"{part.share.collective} of {format_size(part.share.size)}"
        proof = part.method if part.plan is None or best.fabric is not None else f"its plan, by {part.method}"
        yield Fact(what, f"{part.seconds} s", format_time(part.seconds), proof)
    for name, seconds in () if best.step is None else best.step.shares:
        if seconds:
            yield Fact(
                f"Of a step: {name}", f"{seconds} s", f"{format_time(seconds)}, {float(seconds / best.time):.1%}", proof
            )
    if best.price is not None:
        yield Fact("Price", str(best.price), format_amount(best.price), "cables, ports and switches times their prices")
    for one, name in zip(found.contenders, labels(found), strict=True):
        if one.spec is not None:
            yield Fact(name, shorten_text(one.spec), f"{one.topology.nodes} nodes", "the text that rebuilds its links")

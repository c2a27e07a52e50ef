"""Decision: recommendation, runner-up, limits, failures, growth and bill."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from topodesign.base.arguments import as_path
from topodesign.base.atomic import write_directory
from topodesign.base.claims import Claim
from topodesign.base.declared import key
from topodesign.base.fitted import wrap_text
from topodesign.base.records import MAX_WIDE, Table, TextResult
from topodesign.base.units import format_amount, format_time
from topodesign.base.wording import count_noun, join_words
from topodesign.report.design.boxed import with_plans
from topodesign.report.design.bundle import files_of
from topodesign.report.design.parts import FAR, File, Limit, Loss, Offer, Stage, Turn, over
from topodesign.report.design.request import Request
from topodesign.wiring.inventory.inventory import format_metres
from topodesign.wiring.plan.plan import Bill, WiringPlan, items_words

NOT_WORKED_OUT = "here it matters which NIC of a box has which cable, so that failures are not worked out"
_LEAST_NAME = 16  # letters of a name that tables show at least


@dataclass(frozen=True, repr=False)
class Decision(TextResult):
    """Decision on a request, with the contenders and the wiring plan.

    * ``contenders``: all that was compared, the first in what was asked first; those that cannot be recommended last.
    * ``beaten``: names of what is not among the contenders, as one of them takes no more time, money and power; or,
      where time was asked for, as it takes far longer than another.
    * ``cut``: what a time limit was too short for.
    """

    request: Request  # what was asked
    contenders: tuple[Offer, ...]
    missing: tuple[tuple[str, str], ...]  # rivals of which there is none of this size, and why
    beaten: tuple[str, ...]
    turns: tuple[Turn, ...]  # where the runner-up wins
    limits: tuple[Limit, ...]  # what limits each collective of the recommendation
    failures: tuple[Loss, ...]  # what the worst one failure and the worst two cost
    growth: tuple[Stage, ...]  # stages to grow by, in order
    wiring: WiringPlan  # the plan of the recommendation, checked
    claims: tuple[Claim, ...]  # what is proven, and what was only searched
    files: tuple[File, ...] = ()  # files that -o wrote, relative to its directory
    cut: tuple[str, ...] = ()  # with --time-limit: what it was too short for

    KEYS = (
        "request recommendation runner_up verdict contenders",
        key(
            "missing",
            "Rivals of which there is none of this size.",
            kind=dict[str, str],
            value=lambda one: dict(one.missing),
        ),
        key("beaten", "What a contender is as good as in everything, or far faster."),
        "turns limits failures growth bill claims files cut",
        key("text=str(self)", "The same for people.", kind=str),
    )
    ROWS = "contenders"

    @property
    def recommendation(self) -> Offer:
        """Recommended contender."""
        return self.contenders[0]

    @property
    def runner_up(self) -> Offer | None:
        """Next best contender that can be wired; None if there is none."""
        others = (one for one in self.contenders[1:] if one.refused is None)
        return next(others, None)

    @property
    def bill(self) -> Bill:
        """Bill of the recommendation."""
        return self.wiring.bill()

    @property
    def ahead(self) -> Offer | None:
        """Fastest refused contender if faster than the recommendation; else None."""
        others = (one for one in self.contenders if one.time < self.recommendation.time and one.refused is not None)
        return min(others, key=lambda one: one.time, default=None)

    @property
    def verdict(self) -> str:
        """Recommendation with its step time, and any faster contender with its refusal."""
        best, other = self.recommendation, self.ahead
        words = f"Wire {best.name}: a step takes {format_time(best.time)}."
        if other is None:
            return words
        return f"{words} {other.name} would take {format_time(other.time)}, but {other.refused}."

    @property
    def absent(self) -> tuple[str, ...]:
        """Contenders not in the table, with reasons, without full stops."""
        takes = "it takes" if len(self.beaten) == 1 else "each takes"
        far = f", or {FAR} times the first" if self.request.optimise == "time" else ""
        more = f"{count_noun(len(self.beaten), 'other')} not in the table: {takes} at least as long as one in it{far}"
        lines = (f"{name} is not in the table: {why}" for name, why in self.missing)
        late = f"omitted because of the time limit: {join_words(list(self.cut))}" if self.cut else ""
        return (*lines, *([more] if self.beaten else []), *([late] if late else []))

    def heading(self) -> str:
        """Return the question."""
        asked = self.request
        return asked.what if asked.name == asked.what else f"{asked.name}: {asked.what}"

    def table(self) -> Table:
        """Return a table of contenders, the refused ones below a line."""
        return _table(self)

    def __str__(self) -> str:
        """Return the decision on one screen."""
        return _text(self)

    def save(self, directory: str | Path) -> Decision:
        """Write all bench and rack files to a new directory.

        The result is the decision with its files.

        Raises
        ------
        FileFormatError
            If the directory is there already, or cannot be written.
        """
        best = with_plans(self.recommendation)
        made = list(files_of(best, self.wiring, self.growth))
        told = replace(
            self, contenders=(best, *self.contenders[1:]), files=tuple(File(one.path, one.about) for one in made)
        )
        answer = {"decision.json": json.dumps(told.record(), indent=2) + "\n", "decision.txt": f"{told}\n"}
        write_directory(as_path(directory), answer | {one.path: one.content for one in made})
        return told


def _text(found: Decision) -> str:
    """Return the decision on one screen."""
    asked, best = found.request, found.recommendation
    lines = [found.heading(), asked.words, "", found.verdict, *_format_rivals(found), ""]
    text = [line for long in lines for line in (wrap_text(long, MAX_WIDE, 2) or [""])]
    text += [found.table().text(), ""]
    rest = [] if best.step is None else [best.step.heading(), str(best.step.claims[0])]
    rest += [f"limit of {one.collective}: {one}" for one in found.limits]
    rest += [f"plan of {one.share.collective}: {one.planned_words}" for one in best.parts if one.planned_words]
    rest += [
        f"{'one cable' if len(one.links) == 1 else 'two cables'} lost: {one.words(best)}" for one in found.failures
    ]
    rest += [] if found.failures or "failures" in found.cut else [NOT_WORKED_OUT]
    rest += [
        f"grow to {one.nodes}: {count_noun(one.moves, 'move')} (bound {one.at_least}), then a step takes "
        f"{format_time(one.seconds)}: {_short(one.name, 60)}"
        for one in found.growth
    ]
    rest += [f"{one.needs}; to buy: {items_words(one.buy)}" for one in found.growth if one.needs]
    rest += list(_bill(found))
    rest += [f"{str(claim)[:1].upper()}{str(claim)[1:]}." for claim in found.claims]
    rest += found.absent
    rest += [f"wrote {count_noun(len(found.files), 'file')}, listed in decision.json"] if found.files else []
    return "\n".join([*text, *(line for long in rest for line in wrap_text(long, MAX_WIDE, 2))])


def _format_rivals(found: Decision) -> Iterator[str]:
    other, best = found.runner_up, found.recommendation
    if other is None:
        yield "No other network can be recommended."
        return
    yield f"Next best: {other.name}, {format_time(other.time)} ({over(other.time / best.time)})."
    yield from (f"{one}." for one in found.turns)


def _bill(found: Decision) -> Iterator[str]:
    bill, plan = found.bill, found.wiring
    items = [
        f"{one.count} x {one.kind}" + (f" {format_metres(one.length)} m" if one.length else "") for one in bill.items
    ]
    metres = "" if bill.metres is None else f", {format_metres(bill.metres)} m of cable"
    yield (
        f"wiring: {plan.mode}, {count_noun(len(plan.connects), 'cross-connect')}, checked{metres}"
        f"{f': {join_words(items)}' if items else ''}"
    )


def _table(found: Decision) -> Table:
    """Return the contenders, the refused ones below a line."""
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
            *([format_amount(one.price or 0)] if priced else []),
            *([format_amount(one.watts or 0)] if drawn else []),
        ]
        for one in offers
    ]
    shown = ["step (us)", *titles[1:]]  # the table moves the unit of times into the heading
    widths = [max(len(title), *(len(row[place]) for row in cells)) for place, title in enumerate(shown)]
    room = max(_LEAST_NAME, MAX_WIDE - sum(width + 2 for width in widths))
    rows = tuple((*row, _short(_name_of(one), room)) for one, row in zip(offers, cells, strict=True))
    able = sum(one.refused is None for one in offers)
    return Table(
        "",
        (*titles, "network"),
        rows,
        words=frozenset(("network",)),
        spare=frozenset(("switches", "survives")),
        compared=able if able < len(offers) else None,
        footnote="below the line: what cannot be recommended" if able < len(offers) else "",
    )


def _name_of(one: Offer) -> str:
    """Return the table name of a contender, with a rival's spec."""
    return one.name if one.spec in {None, one.name} or one.kind != "rival" else f"{one.name}: {one.spec}"


def _short(text: str, width: int) -> str:
    """Return a text, shortened if it is too long."""
    return text if len(text) <= width else f"{text[: width - 3]}..."

"""The loss budget: what light loses from one optic to the other, link by link, against what the optics stand.

A link passes the fixed cable of either end (its fibre and splices), the panel port where it is plugged in and the trunk
behind that, if any, then the port where it is patched, and between these the patch cord, or the circuit of a switch.
The connectors at the optics are not counted, as in the channel insertion loss of IEEE 802.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from topodesign.base.declared import Declared
from topodesign.base.records import Result, Table, table_of
from topodesign.wiring.inventory.inventory import Fixed, Inventory
from topodesign.wiring.inventory.lengths import PATCH, length
from topodesign.wiring.plan.bill import fixed_lengths
from topodesign.wiring.plan.cross_connects import CrossConnect, End

_MOST_ROWS = 40


@dataclass(frozen=True, slots=True)
class LinkLoss(Declared):
    """What a cross-connect and all that is before and behind it lose.

    * ``cable``: the patch or circuit.
    * ``sender``, ``receiver``: host.
    * ``loss``: what is lost from optic to optic, in dB, as far as it is known.
    * ``unknown``: parts whose loss is not known and not counted.
    * ``budget``: what the optics of both ends stand, in dB; null where unknown.
    """

    cable: str
    sender: str
    receiver: str
    loss: Fraction
    unknown: tuple[str, ...]
    budget: Fraction | None

    KEYS = "cable from=sender to=receiver loss_db=loss budget_db=budget unknown"
    ROW = "cable from=sender to=receiver loss_db=loss budget_db=budget margin_db=margin unknown"

    @property
    def margin(self) -> Fraction | None:
        """What is left of the budget, in dB, below zero if the loss is above it; None if the budget is unknown."""
        return None if self.budget is None else self.budget - self.loss


@dataclass(frozen=True, repr=False)
class LossBudget(Result):
    """The losses of all links of a plan.

    * ``links``: by what is left of the budget, the least first, then those without one, the greatest loss first.
    """

    links: tuple[LinkLoss, ...]

    KEYS = "ok known links"
    ROWS = "links"

    @property
    def over(self) -> tuple[LinkLoss, ...]:
        """Links that lose more than their optics stand."""
        return tuple(link for link in self.links if link.margin is not None and link.margin < 0)

    @property
    def budgeted(self) -> bool:
        """Whether some link has a budget."""
        return any(link.budget is not None for link in self.links)

    @property
    def known(self) -> bool:
        """Whether all losses and all budgets are known."""
        return all(not link.unknown and link.budget is not None for link in self.links)

    @property
    def ok(self) -> bool:
        """Whether no link is known to lose more than its optics stand."""
        return not self.over

    def heading(self) -> str:
        """Return whether the budget holds, and where it is tightest."""
        if not self.links:
            return "no links"
        unknown = list(dict.fromkeys(part for link in self.links for part in link.unknown))
        words = f"; unknown and not counted: {', '.join(unknown)}" if unknown else ""
        with_budget = [link for link in self.links if link.budget is not None]
        most = max(self.links, key=lambda link: link.loss)
        if not with_budget:
            return f"links lose up to {_decibels(most.loss)} ({most.cable}); no port has a budget{words}"
        tight = self.links[0]
        at = f"{tight.cable} loses {_decibels(tight.loss)} of {_decibels(tight.budget)}"
        lacking = len(self.links) - len(with_budget)
        words = (f"; {lacking} links have no budget" if lacking else "") + words
        if self.over:
            return f"{len(self.over)} of {len(self.links)} links lose more than their optics stand: {at}{words}"
        return f"all within the loss budget: {at}{words}"

    def table(self) -> Table:
        """Return the tightest links."""
        rows = [
            {
                "cable": link.cable,
                "from": link.sender,
                "to": link.receiver,
                "loss": _decibels(link.loss),
                "budget": _decibels(link.budget),
                "margin": _decibels(link.margin),
            }
            for link in self.links[:_MOST_ROWS]
        ]
        hidden = len(self.links) - len(rows)
        table = replace(table_of(rows, self.heading()), words=frozenset(("cable", "from", "to")))
        return replace(table, footnote=f"and {hidden} more, with more left") if hidden > 0 else table


def losses_of(inventory: Inventory, fixed: Sequence[Fixed], connects: Sequence[CrossConnect]) -> LossBudget:
    """Return what every link loses, against what its optics stand, as far as the inventory says."""
    budget = {(host.name, port.name): port.budget_db for host in inventory.hosts for port in host.ports}
    metres = fixed_lengths(inventory, fixed)
    links = []
    for connect in connects:
        ends = (connect.a, connect.b)
        parts = [part for end in ends for part in _of_end(inventory, end, metres[end.host, end.port])]
        parts += _between(inventory, connect)
        least = [value for value in (budget[end.host, end.port] for end in ends) if value is not None]
        links.append(_link(connect, parts, min(least, default=None)))
    links.sort(key=lambda link: (link.margin is None, link.margin if link.margin is not None else -link.loss))
    return LossBudget(tuple(links))


_Part = tuple[str, Fraction | None]


def _link(connect: CrossConnect, parts: Iterable[_Part], budget: Fraction | None) -> LinkLoss:
    known = list(parts)
    loss = sum((value for _, value in known if value is not None), Fraction(0))
    unknown = tuple(dict.fromkeys(name for name, value in known if value is None))
    return LinkLoss(connect.cable, connect.a.host, connect.b.host, loss, unknown, budget)


def _of_end(inventory: Inventory, end: End, metres: Fraction | None) -> Iterator[_Part]:
    """Yield what is lost between a host and the port where it is patched."""
    splice, splices = inventory.losses.splice, inventory.losses.splices
    yield _fibre(inventory, metres)
    if splices:
        yield "splice", None if splice is None else splice * splices
    here = end.place
    near = inventory.plugged_at(*here)
    for place in dict.fromkeys((near, here)):
        measured = inventory.panel_port[place].loss_db
        yield "connector", inventory.losses.connector if measured is None else measured
    if near != here:
        yield "trunk", inventory.trunk_at[here].loss_db


def _between(inventory: Inventory, connect: CrossConnect) -> Iterator[_Part]:
    """Yield what is lost between the two ports that are patched."""
    panel = inventory.panel[connect.a.panel]
    if panel.kind == "ocs":
        yield "circuit", panel.circuit_db
    else:
        yield _fibre(inventory, length(inventory, connect.a.panel, connect.b.panel, PATCH[connect.mode]))


def _fibre(inventory: Inventory, metres: Fraction | None) -> _Part:
    per_kilometre = inventory.losses.fibre
    return "fibre", None if metres is None or per_kilometre is None else metres * per_kilometre / 1000


def _decibels(value: Fraction | None) -> str:
    return "" if value is None else f"{float(value):.3g} dB"

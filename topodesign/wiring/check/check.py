"""Whether what was wired is what was planned, and if not, what is wrong and how few patches set it right."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from topodesign.base.arguments import as_seed
from topodesign.base.claims import Among, Claim, Of
from topodesign.base.declared import key
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.records import Result
from topodesign.topology.isomorphism import isomorphism
from topodesign.wiring.change.change import fewest_moves
from topodesign.wiring.change.patches import Change, wired_topology
from topodesign.wiring.check.as_cabled import as_cabled
from topodesign.wiring.check.observed import (
    Observed,
    read_as_built,
    read_dumps,
    read_light,
    read_link_tests,
    read_lldp,
    read_switch,
)
from topodesign.wiring.check.view import Finding, View
from topodesign.wiring.plan.decompose import without_loops
from topodesign.wiring.plan.files import WiringLike, as_wiring
from topodesign.wiring.plan.plan import WiringPlan


@dataclass(frozen=True, repr=False)
class WiringCheck(Result):
    """What became of a plan.

    * ``built``: the wiring as it is, with the hosts of the plan as its nodes, and with the fixed cabling that there is.
      Receivers that are not seen count as planned.
    * ``repair``: the fewest patches that make the links of the plan, whatever the ports and with the fixed cabling that
      there is. Nothing if that is not known.
    * ``other_order``: the fewest patches found if hosts may be other nodes than planned. With none, its hosts are an
      order in which the wiring already is the wanted topology.
    """

    findings: tuple[Finding, ...]  # what is wrong; none if everything is as planned
    built: WiringPlan
    to_plan: int  # patches to be made until every port is as planned
    repair: Change
    other_order: Change
    decided: bool  # whether it is certain if such an order exists
    cabled: bool = True  # whether it is known which lanes end at which panel ports, as far as it matters
    notes: tuple[str, ...] = ()  # what was read for what, such as port ``1`` for ``001``, in words

    KEYS = (
        "ok findings patches_to_plan=to_plan repair other_order claims notes",
        key(
            "isomorphic",
            "Whether no patch has to move then; null if undecided.",
            kind=bool | None,
            value=lambda one: not one.other_order.moves if one.decided else None,
        ),
    )
    ROWS = "findings"

    @property
    def proposal(self) -> Change:
        """What to do: nothing but take the other order of the hosts where that is the plan already, else the repair."""
        return self.repair if self.other_order.moves else self.other_order

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Whether other repairs need fewer patches; nothing where no patch is needed, or not known to be."""
        return (replace(self.repair.claim, of=Of.PATCHES, among=Among.REPAIRS),) if self.repair.moves else ()

    @property
    def ok(self) -> bool:
        """Whether everything was seen and is as planned."""
        return not self.findings

    def heading(self) -> str:
        """Return how much is wrong."""
        if self.ok:
            return f"as planned: {len(self.built.connects)} patches"
        count = len(self.findings)
        what = "1 thing is" if count == 1 else f"{count} things are"
        if not self.cabled:
            return f"{what} not as planned; first the fixed cabling has to be set right"
        return f"{what} not as planned; {self.repair.moves} patches make the links of the plan"

    def __str__(self) -> str:
        if self.ok:
            return "\n".join([self.heading(), *self.notes])
        lines = []
        for finding in self.findings:
            lines += [f"{finding.fault}: {finding.words}", *(f"  {words}" for words in finding.seen)]
        return "\n".join([*lines, "", *self._advice(), *self.notes])

    def _advice(self) -> list[str]:
        """Return how to make the links of the plan, and every port if that takes more."""
        repair, other = self.repair, self.other_order
        if not self.cabled:
            return ["set the fixed cabling right, then check again: which patches are needed shows only then"]
        exact = [f"(all ports as planned: {self.to_plan} patches)"] if self.to_plan != len(repair.made) else []
        if not repair.moves:
            return ["the links between hosts are those of the plan all the same", *exact]
        places = "if the hosts take these places, in the order of the nodes:"
        order = "  " + " ".join(other.after.hosts)
        moves = [f"  {line}" for line in repair.instructions()]
        if not other.moves:
            return [f"nothing has to move {places}", order, "otherwise:", *moves, *exact]
        (claim,) = self.claims
        lines = [f"these patches make the links of the plan ({claim.verdict}):", *moves, *exact]
        if other.moves < repair.moves:
            lines += [f"{other.moves} would do {places}", order, *(f"  {line}" for line in other.instructions())]
        if not self.decided:
            lines.append("whether another order of the hosts needs no move at all is not decided")
        return lines


def check_wiring(
    plan: WiringLike,
    observed: Observed | None = None,
    *,
    lldp: str | Path | None = None,
    ocs: str | Path | None = None,
    dumps: str | Path | None = None,
    netbox: str | Path | None = None,
    links: str | Path | None = None,
    light: str | Path | None = None,
    seed: int = 0,
) -> WiringCheck:
    r"""Hold what was wired against a plan, and say how few patches set it right.

    Every link that is missing needs a patch of its own, so the repairs need no fewer than they name: as many as links
    are missing, for these hosts.

    Parameters
    ----------
    plan
        What was wanted, or the path of its file.
    observed
        What was seen.
    lldp, ocs, dumps
        Instead of it, what hosts hear, the circuits of switches, or a directory with both, as :func:`read_lldp`,
        :func:`read_switch` and :func:`read_dumps` of :mod:`topodesign.wiring.check.observed` read them.
    netbox
        Or what NetBox has as built: its address or a file, as
        :func:`topodesign.wiring.check.observed.read_as_built` reads it.
    links
        Or what the link tests of hosts printed, as :func:`topodesign.wiring.check.observed.read_link_tests` reads it.
    light
        Beside these, what light arrives at receivers, as :func:`read_light` reads it.
    seed
        Of the search for another order of the hosts.

    Raises
    ------
    ParameterError
        If not exactly one of ``observed``, ``lldp``, ``ocs``, ``dumps``, ``netbox`` and ``links`` is given.
    FileFormatError
        If a file cannot be read.
    NetboxError
        If a server cannot be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from topodesign import plain_inventory, wire
    >>> plan = wire("biring(2,3)", plain_inventory(3, 2), mode="simplex")
    >>> heard = ["host,port,neighbour_host,neighbour_port"]
    >>> heard += [f"{link.b.host},{link.b.port},{link.a.host},{link.a.port}" for link in plan.connects]
    >>> _ = Path("heard.csv").write_text("\n".join(heard))
    >>> check_wiring(plan, lldp="heard.csv")
    <WiringCheck: as planned: 6 patches>
    """
    plan, seed = as_wiring(plan), as_seed(seed)
    seen = _one_of(plan, observed, lldp=lldp, ocs=ocs, dumps=dumps, netbox=netbox, links=links)
    if light is not None:
        seen = replace(seen, light=read_light(light, plan))
    return replace(_checked(plan, seen, seed), notes=seen.notes)


def _checked(plan: WiringPlan, seen: Observed, seed: int) -> WiringCheck:
    real = as_cabled(plan, seen)
    view = View(real)
    connects, findings = view.built(), tuple(view.findings())
    topology = wired_topology(plan.hosts, connects)
    built = replace(real.plan, topology=topology, connects=connects)
    pairs = {(a.place, b.place) for connect in connects for a, b in connect.ways}
    to_plan = sum((connect.a.place, connect.b.place) not in pairs for connect in plan.connects)
    own = None if real.exchanges else real.plan  # its patches make its links, unless they end at other lanes
    if own is not None and not view.astray and not to_plan and len(connects) == len(plan.connects):
        nothing = Change(built, replace(built, topology=plan.topology), (), (), at_least=0)
        return WiringCheck(findings, built, to_plan, nothing, nothing, decided=True)
    try:
        repair = (
            None
            if view.astray
            else fewest_moves(built, plan.topology, hosts=plan.hosts, prefer=real.plan.connects, own=own)
        )
    except InfeasibleError:  # with cables exchanged as they are
        repair = None
    if repair is None:
        nothing = Change(built, built, (), (), at_least=0)
        return WiringCheck(findings, built, to_plan, nothing, nothing, decided=False, cabled=False)
    if not repair.made:
        return WiringCheck(findings, built, to_plan, repair, repair, decided=True)
    found = isomorphism(topology, without_loops(plan.topology))
    if found.place is not None:
        order = tuple(plan.hosts[place] for place in found.place)
        same = fewest_moves(built, plan.topology, hosts=order)
        return WiringCheck(findings, built, to_plan, repair, same, decided=True)
    other = fewest_moves(built, plan.topology, seed=seed, own=repair.after)
    other = other if other.moves < repair.moves else repair
    return WiringCheck(findings, built, to_plan, repair, other, found.decided or not other.made)


def _one_of(plan: WiringPlan, observed: Observed | None, **paths: str | Path | None) -> Observed:
    readers = {
        "lldp": read_lldp,
        "ocs": read_switch,
        "dumps": read_dumps,
        "netbox": read_as_built,
        "links": read_link_tests,
    }
    given = {name: path for name, path in paths.items() if path is not None}
    if len(given) == 1 and observed is None:
        ((name, path),) = given.items()
        return readers[name](path, plan)
    if not isinstance(observed, Observed) or given:
        raise ParameterError(
            "give exactly one of observed (what read_lldp and its like return), lldp, ocs, dumps, netbox and links"
        )
    return observed

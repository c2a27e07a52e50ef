"""Check of installed wiring against a plan, with the minimum repair."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal, Unpack

from topodesign.base.arguments import as_seed
from topodesign.base.claims import Claim, Of, Proof, Scope
from topodesign.base.declared import key
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.options import read, takes
from topodesign.base.records import Result
from topodesign.topology.isomorphism import isomorphism
from topodesign.wiring.change.change import fewest_moves
from topodesign.wiring.change.patches import Change, make_topology
from topodesign.wiring.check.cables import read_as_built, read_export, read_switch
from topodesign.wiring.check.comparison import Finding
from topodesign.wiring.check.evidence import Observed
from topodesign.wiring.check.exchanges import compare_nets
from topodesign.wiring.check.names import KnownNames
from topodesign.wiring.check.observed import (
    known_names,
    light_with_notes,
    read_dumps,
    read_link_tests,
    read_lldp,
)
from topodesign.wiring.check.options import SOURCES, Observations
from topodesign.wiring.plan.decompose import without_loops
from topodesign.wiring.plan.files import WiringLike, as_wiring
from topodesign.wiring.plan.plan import WiringPlan, list_hosts

_MAX_NAMED = 8  # receivers that a note names
_FIRST = {
    "cabling": "first the fixed cabling has to be set right",
    "names": "first what is not known has to be seen, or named (--interfaces)",
}


@dataclass(frozen=True, repr=False)
class WiringCheck(Result):
    """Result of a wiring check.

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
    waits_for: Literal["", "cabling", "names"] = ""  # what has to be known before patches follow
    notes: tuple[str, ...] = ()  # what was read for what, such as port ``1`` for ``001``, in words
    assumed: tuple[str, ...] = ()  # receivers of which nothing certain is known, and which count as planned
    certain: bool = True  # whether all that was seen was reported, by names that are known

    KEYS = (
        "ok findings patches_to_plan=to_plan repair other_order claims notes assumed",
        key(
            "waits_for=or_null(waits_for)",
            "What has to be known before it shows which patches are needed: the fixed cabling, or names of ports and "
            "hosts; null if nothing.",
            kind=("cabling", "names", None),
        ),
        key(
            "isomorphic",
            "Whether no patch has to move then; null if undecided.",
            kind=bool | None,
            value=lambda one: not one.other_order.moves if one.decided else None,
        ),
    )
    ROWS = "findings"

    @property
    def cabled(self) -> bool:
        """Whether all relevant ends of fixed cabling are known."""
        return self.waits_for != "cabling"

    def as_wired(self) -> WiringPlan:
        """Return the installed wiring as a plan that can be changed.

        Raises
        ------
        InfeasibleError
            If it is not known, since names or the fixed cabling are not.
        """
        if self.waits_for:
            seen = next(one for one in self.findings if one.fault in {"link", "wrong port", "cabling", "name", "dark"})
            raise InfeasibleError(f"{seen.words}; {_FIRST[self.waits_for]}: ask 'topodesign wire check'")
        return self.built

    @property
    def unknown_notes(self) -> tuple[str, ...]:
        """Notes on unknown wiring that counts as planned; empty if none."""
        if not self.assumed:
            return ()
        names = ", ".join(self.assumed[:_MAX_NAMED]) + (", ..." if len(self.assumed) > _MAX_NAMED else "")
        return (
            f"not known, and taken to be as planned, is what these hear: {names} ('topodesign wire check' says why)",
        )

    @property
    def proposal(self) -> Change:
        """Recommended change: another host order if free, otherwise the repair."""
        return self.repair if self.other_order.moves else self.other_order

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Claim on the minimum number of patches; empty if no repair follows."""
        if not self.repair.moves:
            return ()
        claim = replace(self.repair.claim, of=Of.PATCHES, among=Scope.REPAIRS)
        if not self.certain:
            claim = replace(claim, proof=Proof.NONE, bound=None, by="not all is known of what was seen")
        return (claim,)

    @property
    def ok(self) -> bool:
        """Whether everything was seen and is as planned."""
        return not self.findings

    def heading(self) -> str:
        """Return a summary of the findings."""
        if self.ok:
            return f"as planned: {len(self.built.connects)} patches"
        count = len(self.findings)
        what = "1 thing is" if count == 1 else f"{count} things are"
        if self.waits_for:
            return f"{what} not as planned; {_FIRST[self.waits_for]}"
        if not self.to_plan:
            return f"{what} not known or told; all patches that are seen are as planned"
        return f"{what} not as planned; {self.repair.moves} patches make the links of the plan"

    def __str__(self) -> str:
        if self.ok:
            return "\n".join([self.heading(), *self.notes])
        lines = []
        for finding in self.findings:
            lines += [f"{finding.fault}: {finding.words}", *(f"  {words}" for words in finding.seen)]
        return "\n".join([*lines, "", *self._advice(), *self.notes])

    def _advice(self) -> list[str]:
        """Return advice to restore the planned links, and all ports."""
        repair, other = self.repair, self.other_order
        if self.waits_for:
            return [f"{_FIRST[self.waits_for]}, then check again: which patches are needed shows only then"]
        if not self.to_plan:
            return ["all patches that are seen are as planned; no patch has to be moved for what is known"]
        exact = [f"(all ports as planned: {self.to_plan} patches)"] if self.to_plan != len(repair.made) else []
        if not repair.moves:
            return ["the links between hosts are those of the plan all the same", *exact]
        places = "if the hosts take these places, in the order of the nodes:"
        order = f"  {list_hosts(other.after.hosts)}"
        moves = [f"  {line}" for line in repair.instructions()]
        if not other.moves:
            return [f"nothing has to move {places}", order, "otherwise:", *moves, *exact]
        (claim,) = self.claims
        lines = [f"patches that restore the links of the plan, {claim.verdict}:", *moves, *exact]
        if other.moves < repair.moves:
            lines += [f"{other.moves} would do {places}", order, *(f"  {line}" for line in other.instructions())]
        if not self.decided:
            lines.append("whether another order of the hosts needs no move at all is not decided")
        return lines


@takes(Observations)
def check_wiring(
    plan: WiringLike, observed: Observed | None = None, *, seed: int = 0, **options: Unpack[Observations]
) -> WiringCheck:
    r"""Compare installed wiring with a plan and find the minimum repair.

    Every link that is missing needs a patch of its own, so the repairs need no fewer than they name: as many as links
    are missing, for these hosts.

    Parameters
    ----------
    plan
        What was wanted, or the path of its file.
    observed
        What was seen, as functions of :mod:`topodesign.wiring.check.observed` and
        :mod:`topodesign.wiring.check.cables` read it.
    seed
        Of the search for another order of the hosts.
    **options
        Or one source of what was wired, and beside any what light arrives and what hosts call their ports.

    Raises
    ------
    ParameterError
        If not exactly one source is given.
    FileFormatError
        If a file cannot be read.
    NetboxError
        If a server cannot be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from topodesign import plain_inventory, plan_wiring
    >>> plan = plan_wiring("biring(2,3)", plain_inventory(3, 2), mode="simplex")
    >>> heard = ["host,port,neighbour_host,neighbour_port"]
    >>> heard += [f"{link.b.host},{link.b.port},{link.a.host},{link.a.port}" for link in plan.connects]
    >>> _ = Path("heard.csv").write_text("\n".join(heard))
    >>> check_wiring(plan, lldp="heard.csv")
    <WiringCheck: as planned: 6 patches>
    """
    plan, seed = as_wiring(plan), as_seed(seed)
    known = read(Observations, options, "check_wiring")
    names = known_names(plan, known["interfaces"])
    seen = _one_of(plan, names, observed, {name: known[name] for name in SOURCES if known[name] is not None})
    if known["light"] is not None:
        powers, notes = light_with_notes(known["light"], names)
        seen = replace(seen, light=powers, notes=(*seen.notes, *notes))
    return replace(_checked(plan, seen, seed), notes=seen.notes, certain=seen.whole)


def _checked(plan: WiringPlan, seen: Observed, seed: int) -> WiringCheck:  # noqa: PLR0911  what ends it, in turn
    real = compare_nets(plan, seen)
    connects, findings = real.built(), tuple(real.findings())
    topology = make_topology(plan.hosts, connects)
    built = replace(real.plan, topology=topology, connects=connects)
    pairs = {(a.place, b.place) for connect in connects for a, b in connect.ways}
    to_plan = sum((connect.a.place, connect.b.place) not in pairs for connect in plan.connects)
    assumed = tuple(plan.lane_name(lane) for lane in real.unknown.as_planned)
    nothing = Change(built, built, (), (), at_least=0)
    waiting = WiringCheck(findings, built, to_plan, nothing, nothing, decided=False, assumed=assumed)
    own = None if real.exchanges else real.plan  # its patches make its links, unless they end at other lanes
    if real.astray:
        return replace(waiting, waits_for="cabling")
    if real.unknown.decides_nothing:
        return replace(waiting, waits_for="names")
    if own is not None and not to_plan and len(connects) == len(plan.connects):
        kept = replace(nothing, after=replace(built, topology=plan.topology))
        return WiringCheck(findings, built, to_plan, kept, kept, decided=True, assumed=assumed)
    try:
        repair = fewest_moves(built, plan.topology, hosts=plan.hosts, prefer=real.plan.connects, own=own)
    except InfeasibleError:  # with cables exchanged as they are
        return replace(waiting, waits_for="cabling")
    if not repair.made:
        return WiringCheck(findings, built, to_plan, repair, repair, decided=True, assumed=assumed)
    ends = [end.source for connect in (*repair.made, *repair.removed) for way in connect.ways for end in way[1:]]
    if real.unknown.touches(ends):
        return replace(waiting, waits_for="names")
    if assumed:  # another order of the hosts would rest on what is not known
        return WiringCheck(findings, built, to_plan, repair, repair, decided=False, assumed=assumed)
    found = isomorphism(topology, without_loops(plan.topology))
    if found.place is not None:
        order = tuple(plan.hosts[place] for place in found.place)
        same = fewest_moves(built, plan.topology, hosts=order)
        return WiringCheck(findings, built, to_plan, repair, same, decided=True)
    other = fewest_moves(built, plan.topology, seed=seed, own=repair.after)
    other = other if other.moves < repair.moves else repair
    return WiringCheck(findings, built, to_plan, repair, other, found.decided or not other.made)


def _one_of(
    plan: WiringPlan, names: KnownNames, observed: Observed | None, given: Mapping[str, str | Path]
) -> Observed:
    readers: dict[str, Callable[[str | Path, WiringPlan], Observed]] = {
        "lldp": partial(read_lldp, names=names),
        "ocs": read_switch,
        "dumps": partial(read_dumps, names=names),
        "netbox": read_as_built,
        "links": partial(read_link_tests, names=names),
        "export": read_export,
    }
    if len(given) == 1 and observed is None:
        ((name, path),) = given.items()
        return readers[name](path, plan)
    if not isinstance(observed, Observed) or given:
        raise ParameterError(f"give exactly one of observed (what read_lldp and its like return), {', '.join(SOURCES)}")
    return observed

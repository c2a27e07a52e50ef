"""Design request: machines, ports, training step, room and criterion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

from topodesign.base.declared import Declared, key
from topodesign.base.units import format_bandwidth, format_time
from topodesign.base.wording import count_noun
from topodesign.fabrics.boxes import Box
from topodesign.fabrics.fabric import Fabric
from topodesign.pricing.mix import Mix
from topodesign.pricing.training.traffic import StepMix
from topodesign.pricing.workload import Workload
from topodesign.topology.topology import Topology
from topodesign.wiring.inventory.inventory import Inventory

Aim = Literal["time", "price", "both"]
Cabling = Literal["simplex", "duplex"]
AIMS: tuple[Aim, ...] = ("time", "price", "both")


@dataclass(frozen=True)
class Request(Declared):
    """Design request after checks.

    * ``work``: alpha, gap and hop, and the bandwidth of each over all its ports; of boxes alpha is that of a cable.
    * ``cabling``: ``duplex`` where every link has its reverse in the same cable; ``simplex`` allows one-way links, too.
    * ``given``: rivals that were given as graphs, arrays or topologies, by their names.
    * ``prices``, ``watts``: of a cable, a port of a node, a switch and a port of a switch.
    * ``step``: the training step of a model that contenders are ranked by; None where ``mix`` says what is sent.
    """

    name: str  # what it is called
    nodes: int  # N, hosts, accelerators or boxes that are wired
    degree: int  # ports of each out of, and into, it
    work: Workload
    mix: Mix  # what a training step sends
    cabling: Cabling = "simplex"
    rivals: tuple[str, ...] = ()  # everyday names, specs or files of what one would wire or buy otherwise
    prices: Mapping[str, Fraction] = field(default_factory=dict)
    watts: Mapping[str, Fraction] = field(default_factory=dict)
    survive: int = 0  # links that may fail, whichever they are, and all still reach each other
    grow: tuple[int, ...] = ()  # numbers of nodes to grow to, ascending
    optimise: Aim = "time"  # ``time`` of a step, ``price``, or ``both``: their product
    room: Inventory | None = None  # hosts, panels and switches to wire it in; None for a plain room
    box: Box | None = None  # what each of the boxes is; None where nodes stand alone
    step: StepMix | None = None
    given: Mapping[str, Topology | Fabric] = field(default_factory=dict, repr=False)

    KEYS = (
        "name nodes degree *work.latency bandwidth_bps=float(work.bandwidth) mix cabling rivals",
        key("prices=float(prices)", "Of a cable, a port of a node, a switch and a port of a switch."),
        key("watts=float(watts)", "Watts of each, likewise."),
        "survive grow optimise",
        key("room=room.name", "Name of the inventory; null for a plain room."),
        key("box=box.name", "What each of the nodes is; null where they stand alone."),
        key("model=step.model", "The model that is trained; null where a mix says what is sent."),
    )

    @property
    def graph_mix(self) -> Mix:
        """Mix per node of the wiring; all-to-alls of boxes scale with their size."""
        inside = 1 if self.box is None else len(self.box.nodes)
        shares = (
            replace(one, size=one.size * inside) if one.collective == "all-to-all" else one for one in self.mix.shares
        )
        return replace(self.mix, shares=tuple(shares))

    @property
    def what(self) -> str:
        """Description of the wired nodes or boxes."""
        if self.box is None:
            return f"{self.nodes} nodes of degree {self.degree}"
        return f"{self.nodes} boxes {self.box.name} with {count_noun(self.degree, 'cable')} each"

    @property
    def words(self) -> str:
        """Description of the workload, latency and bandwidth."""
        sent = self.mix.words if self.step is None else f"a training step of {self.step.name}"
        each, alpha = ("node", "alpha") if self.box is None else ("box", "a cable")
        rate = format_bandwidth(self.work.bandwidth)
        return f"{sent}; {alpha} {format_time(self.work.alpha)}, {rate} per {each}"

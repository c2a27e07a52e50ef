"""Description of every spec: arguments, size, picture, cost and source."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from topodesign.base import entry_points
from topodesign.base.cost import Cost
from topodesign.base.declared import key
from topodesign.base.errors import ParameterError
from topodesign.base.records import Result, ResultList, Table
from topodesign.base.spec import Spec, parse
from topodesign.base.wording import suggest
from topodesign.fabrics.presets import build_fabric
from topodesign.pricing.evaluation import dearer, price_both
from topodesign.topology.everyday import SPOKEN, SPOKEN_FABRICS
from topodesign.topology.family import Family, call_signature
from topodesign.topology.library import build
from topodesign.topology.topology import Topology

_MAX_DRAWN = 40  # nodes up to which there is a picture


def _measure_sizes(nodes: str, ports: str, names: str, args: str = "2") -> dict[str, tuple[str, str, str]]:
    return {name: (nodes, ports, f"{name}({args})") for name in names.split()}


SIZES: dict[str, tuple[str, str, str]] = {
    # Everyday names.
    "slimfly": ("2*q**2", "about 3*q/2", "slimfly(4)"),
    "jellyfish": ("n", "d", "jellyfish(16,3)"),
    "hyperx": ("prod(sides)", "sum(sides) - len(sides)", "hyperx(3,4)"),
    "dragonfly": ("a*(a*h + 1)", "a - 1 + h", "dragonfly(3,2)"),
    "ring": ("n", "d", "ring(8,2)"),
    "fullmesh": ("n", "n - 1", "fullmesh(6)"),
    "torus2d": ("a*b", "2 for each side, 1 for a side of 2", "torus2d(4,4)"),
    "torus3d": ("a*b*c", "2 for each side, 1 for a side of 2", "torus3d(2,3,4)"),
    # Rows of the catalog.
    "catalog": ("N", "d", "catalog(12,4,1)"),
    "catalog_duplex": ("N", "d", "catalog_duplex(16,3,1)"),
    # Fabrics: nodes, and what a node has to switches and other nodes.
    **_measure_sizes(
        "8*boxes", "links of its box and its NIC", "dgx_a100 dgx_a100_rails dgx_h100 dgx_h200 dgx_b200 dgx_b300"
    ),
    **_measure_sizes("8*boxes", "links of its box and its NIC", "mi300x mi325x mi350x mi355x"),
    **_measure_sizes("8*boxes", "links of its box", "dgx_a100_pcie dgx_a100_links dgx1_v100"),
    **_measure_sizes("8*boxes", "a PCIe switch", "pcie_box pcie_pair"),
    **_measure_sizes("16*boxes", "links of its box and its NIC", "mi250"),
    **_measure_sizes("72*racks", "an NVSwitch and a rail", "gb200_nvl72 gb300_nvl72"),
    **_measure_sizes("8*boxes", "21 ports in its box, 3 outside", "gaudi3"),
    **_measure_sizes("16*instances", "4, and EFA", "trn2"),
    **_measure_sizes("64*servers", "6, and EFA", "trn2_ultra", "1"),
    **_measure_sizes("a*b*c", "2 for each side of whole cubes", "tpu_v4 tpu_v5p tpu_v7", "4,4,4"),
    **_measure_sizes("a*b", "2 for each side of 16, less at ends", "tpu_v5e tpu_v6e", "4,4"),
    **_measure_sizes("prod(sides)", "2 for each side, 1 for a side of 2", "tpu_torus", "4,4"),
    **_measure_sizes("accelerators", "stations", "ualink_pod", "8,4"),
    **_measure_sizes("accelerators", "ports", "sue_pod", "8,4"),
    **_measure_sizes("boxes*gpus", "an NVSwitch and a rail", "rail_optimised", "2,4"),
    **_measure_sizes("boxes*gpus", "an NVSwitch and a rail", "rail_spine", "2,4,2"),
    **_measure_sizes("leaves*hosts", "a leaf switch", "fat_tree", "4,4,4"),
    **_measure_sizes("pods*leaves*hosts", "a leaf switch", "fat_tree3", "2,2,2,2,2"),
    **_measure_sizes("groups*leaves*hosts", "a leaf switch", "dragonfly_plus", "3,2,2,2"),
    "boxes": ("nodes of a box for each node of G", "links of its box and its cables", "boxes(dgx_h100,complete(4))"),
}
"""Nodes and ports of the other specs, as formulas of their arguments or in words, and a small example."""
_FABRIC_DRAGONFLY = ("groups*routers*hosts", "a router", "dragonfly(5,2,2)")
_UNSAID = ("", "", "")  # of presets of other packages

_CATALOG = {
    "catalog": "Row of the catalog: the k-th topology, steps ascending, of the frontier of N nodes and degree d.",
    "catalog_duplex": "Row of the catalog: the k-th topology of the frontier of duplex ones of N nodes and degree d.",
}


@dataclass(frozen=True, repr=False)
class SpecDescription(Result):
    """Name that specs may begin with."""

    name: str  # what specs begin with
    kind: str  # what sort it is; ``everyday`` is another word for one of the others
    call: str  # how it is written, with its arguments
    about: str  # what it is, in a line
    text: str  # all that there is to say
    nodes: str  # nodes, by the arguments; of an expansion by N and d of what it expands
    degree: str  # ports of a node, likewise
    example: str  # a small one
    source: str  # where it is from; empty if nobody is named

    ROW = "name kind call nodes degree example about source"
    KEYS = (
        "name",
        key("kind", kind=("family", "expansion", "everyday", "catalog", "fabric")),
        "call nodes degree example about source text example_nodes example_degree",
        key("example_steps=cost.steps", "Communication steps on it; null for fabrics."),
        key("example_bandwidth=cost.bandwidth", "Its bandwidth factor; null for fabrics."),
        "picture",
    )

    def topology(self) -> Topology:
        """Return the example's links; switches of a fabric are included."""
        return self._built

    @cached_property
    def _built(self) -> Topology:
        return build_fabric(self.example).topology if self.kind == "fabric" else build(self.example)

    def cost(self) -> Cost | None:
        """Return the greater cost of allgather and reduce-scatter; None for fabrics."""
        return self._price

    @cached_property
    def _price(self) -> Cost | None:
        return None if self.kind == "fabric" else dearer(*price_both(self._built))

    @property
    def example_nodes(self) -> int:
        """Number of nodes of the example, without switches."""
        return self._built.nodes - len(self._built.switches)

    @property
    def example_degree(self) -> int | None:
        """Ports per node of the example; None for fabrics."""
        return None if self.kind == "fabric" else self._built.degree

    def picture(self) -> list[str]:
        """Links in half blocks, two rows of nodes per line; empty for many nodes."""
        return picture(self._built)

    def heading(self) -> str:
        """Return the call and a short description."""
        return f"{self.call}: {self.about}"

    def table(self) -> Table:
        """Return the description as a table, with the picture."""
        place, cost = self.topology(), self.cost()
        size = f"{self.example_nodes} nodes"
        if cost is None:
            size += f", {len(place.switches)} switches"
        else:
            wired = "duplex" if place.is_duplex else "simplex"
            size += f" of degree {place.degree}, {wired}: {cost.steps} steps, bandwidth factor {cost.bandwidth}"
        rows = [
            ("kind", self.kind),
            *[("" if number else "what it is", line) for number, line in enumerate(self.text.split("\n"))],
            ("nodes", self.nodes),
            ("ports", self.degree),
            *([("source", self.source)] if self.source else []),
            ("example", self.example),
            ("", size),
        ]
        drawn = picture(place)
        if drawn:
            rows += [("links", "from the node of a row to that of a column:"), *(("", line) for line in drawn)]
        return Table(self.call, ("", " "), tuple(rows), words=frozenset(("", " ")))


class Families(ResultList[SpecDescription]):
    """Names that specs may begin with."""

    __slots__ = ()

    KEYS = (key("families", "What specs may begin with.", kind=list[SpecDescription], value=list),)

    def heading(self) -> str:
        """Return the number of names."""
        return f"{len(self)} names; more of one: topodesign info families NAME"

    def table(self) -> Table:
        """Return a table with one row for each name."""
        rows = tuple((one.name, f"{one.call}: {one.about}. Nodes: {one.nodes}; ports: {one.degree}") for one in self)
        return Table(self.heading(), ("", " "), rows, words=frozenset(("", " ")))


def families(name: str | None = None) -> Families:
    """Describe all names that specs may begin with, or one of them.

    These are families, expansions, standard names and fabrics.

    Parameters
    ----------
    name
        A name, or a spec that begins with it, which is the example then; all if it is None.

    Raises
    ------
    ParameterError
        If there is no such name; the message has those that are close.
    SpecError
        If a spec cannot be read.

    Examples
    --------
    >>> from topodesign import families
    >>> one, = families("kautz")
    >>> one.call, one.nodes, one.degree
    ('kautz(d,n)', 'd^n*(d + 1)', 'd')
    """
    every = Families(_describe_all())
    if name is None:
        return every
    spec = parse(name) if isinstance(name, str) and "(" in name else None
    wanted = SPOKEN_FABRICS.get(str(name), str(name)) if spec is None else SPOKEN_FABRICS.get(spec.name, spec.name)
    found = Families(one for one in every if one.name == wanted)
    if not found:
        hint = suggest(wanted, (one.name for one in every), "'topodesign info families' lists all")
        raise ParameterError(f"no spec begins with {wanted[:50]!r}; {hint}")
    return found if spec is None else Families(_with_example(one, spec) for one in found if _fits(one, spec))


def _fits(one: SpecDescription, spec: Spec) -> bool:
    """Return whether this variant of a name takes the given arguments."""
    return one.name != "dragonfly" or (one.kind == "fabric") == (len(spec.args) > 2)


def _with_example(one: SpecDescription, spec: Spec) -> SpecDescription:
    return replace(one, example=str(spec))


def _describe_all() -> Iterator[SpecDescription]:
    for name, entry in sorted([*entry_points.FAMILIES.items(), *entry_points.EXPANSIONS.items()]):
        if isinstance(entry, Family):
            yield _of(name, "family", entry.signature.replace("base", "GROUP"), entry.function, entry.size)
        else:
            yield _of(name, "expansion", entry.signature.replace("base", "G"), entry.graph, entry.size)
    for name, meaning in SPOKEN.items():
        yield _of(name, "everyday", call_signature(meaning), meaning, SIZES[name])
    for name, about in _CATALOG.items():
        nodes, degree, example = SIZES[name]
        yield SpecDescription(name, "catalog", f"{name}(N,d,k)", about, about, nodes, degree, example, "")
    for name, generator in entry_points.FABRICS.items():
        sizes = _FABRIC_DRAGONFLY if name == "dragonfly" else SIZES.get(name, _UNSAID)
        yield _of(name, "fabric", call_signature(generator), generator, sizes)


def _of(name: str, kind: str, call: str, function: Callable[..., Any], sizes: tuple[str, str, str]) -> SpecDescription:
    text, _, source = (inspect.getdoc(function) or "").partition("References\n----------\n")
    text = re.sub(r":(?:func|class):`([^`]*)`|``([^`]*)``", lambda match: match[1] or match[2], text)
    paragraphs = [" ".join(part.split()) for part in text.strip().split("\n\n")]
    about = re.split(r"(?<=[a-z0-9)}\]])[:;.](?: |$)", paragraphs[0])[0]
    nodes, degree, example = sizes
    joined = "\n".join(paragraphs)
    return SpecDescription(
        name,
        kind,
        call,
        about,
        joined,
        _format_formula(nodes),
        _format_formula(degree),
        example,
        " ".join(source.split()).rstrip("."),
    )


def _format_formula(formula: str) -> str:
    """Format a formula for readers."""
    return formula.replace("**", "^")


def picture(topology: Topology) -> list[str]:
    """Draw the links in half blocks; return nothing for many nodes.

    A row is a sender and a column is a receiver.

    Examples
    --------
    >>> from topodesign import build
    >>> for line in picture(build("uniring(1,4)")):
    ...     print(line)
    .▀▄.
    ▄..▀
    """
    if topology.nodes > _MAX_DRAWN:
        return []
    linked = set(zip(topology.src.tolist(), topology.dst.tolist(), strict=True))
    marks = {(False, False): ".", (True, False): "▀", (False, True): "▄", (True, True): "█"}
    return [
        "".join(marks[(row, column) in linked, (row + 1, column) in linked] for column in range(topology.nodes))
        for row in range(0, topology.nodes, 2)
    ]

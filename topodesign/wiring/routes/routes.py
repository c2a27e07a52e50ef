"""Routes that cannot deadlock, of any network: the door of this folder."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from topodesign.base.arguments import as_choice, as_integer, as_path, as_seed
from topodesign.base.atomic import write_directory, write_whole
from topodesign.base.declared import Declared, key
from topodesign.base.errors import InfeasibleError, ParameterError, TooLargeError
from topodesign.base.progress import Progress, each
from topodesign.base.records import Result, Table
from topodesign.base.wording import counted
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.places import PlaceLike, as_fabric, as_place
from topodesign.pricing.closed_form import distances
from topodesign.pricing.traffic_matrix import MatrixLike, as_demand, is_drawn
from topodesign.topology.topology import IntArray, Topology
from topodesign.wiring.routes.engines import ENGINES, MOST_LANES, Question
from topodesign.wiring.routes.formats import FORMATS, Tables, read_ports
from topodesign.wiring.routes.ways import MOST_HOPS, Ways, channel_order, dependencies, problems

MOST_NODES = 1024  # vertices of what is routed


@dataclass(frozen=True)
class Routing(Declared):
    """What one engine found, and what that is worth."""

    engine: str  # its name
    ways: Ways  # links and lanes of every pair
    shortest: bool  # whether all ways are as short as can be
    mean_hops: Fraction  # links that a unit of the traffic goes over on average
    most_hops: int  # links of the longest way
    fullest: Fraction  # the largest load of a link over its capacity, in units of the traffic
    dependencies: int  # pairs of channels (links in lanes) that follow one another on some way
    order: IntArray  # the place of every channel in an order in which all ways go up: the proof

    KEYS = (
        "engine",
        key("lanes=ways.lanes", "Lanes (virtual channels) in use."),
        key("keeps_lane=ways.keeps_lane", "Whether every way stays in one lane, as a service level says it."),
        "shortest",
        key("mean_hops", "Links that a unit of the traffic goes over on average."),
        "most_hops fullest dependencies",
    )


@dataclass(frozen=True, repr=False)
class Routes(Result):
    """Routes of all pairs, with the proof that no messages wait for each other in a circle.

    * ``place``: the network.
    * ``traffic``: the file of the traffic, or None where all nodes send as much to all others.
    * ``found``: what the engines found, the one that is taken first.
    * ``plain``: whether parallel links are cables.
    """

    place: Fabric
    traffic: str | None
    found: tuple[Routing, ...]
    plain: bool

    KEYS = (
        key("place=place.name", "What it is called."),
        key("nodes=len(place.compute)", "Nodes."),
        "traffic",
        "*chosen",
        "all_to_all",
        key("engines=found", "What all engines found."),
        "certificate",
    )
    ROWS = "found"

    @property
    def chosen(self) -> Routing:
        """The one that is taken."""
        return self.found[0]

    @property
    def all_to_all(self) -> Fraction | None:
        """The bandwidth factor y of an all-to-all over these routes; None for other traffic, and for fabrics."""
        if self.traffic is not None or not self.plain:
            return None
        return Fraction(self.place.topology.degree, len(self.place.compute)) * self.chosen.fullest

    @property
    def certificate(self) -> list[str]:
        """The channels, as FROM>TO/LANE, in an order in which every way goes up."""
        ways, names = self.chosen.ways, self.place.names
        topology, used = ways.topology, set((ways.hop * ways.lanes + ways.lane).tolist())
        found = []
        for channel in sorted(used, key=lambda one: int(self.chosen.order[one])):
            link, lane = divmod(channel, ways.lanes)
            found.append(f"{names[topology.src[link]]}>{names[topology.dst[link]]}/{lane}")
        return found

    def heading(self) -> str:
        """Return what is routed and with how many lanes."""
        one = self.chosen
        ways = "shortest paths" if one.shortest else "paths"
        return (
            f"{self.place.name}: {ways} of {counted(len(self.place.compute), 'node')} in "
            f"{counted(one.ways.lanes, 'lane')}, {counted(one.dependencies, 'dependency', 'dependencies')} of channels "
            "without a circle"
        )

    def table(self) -> Table:
        """Return a row for every engine."""
        rows = tuple(
            (
                f"{one.engine}{' *' if one is self.chosen else ''}",
                str(one.ways.lanes),
                "stays" if one.ways.keeps_lane else "changes",
                "yes" if one.shortest else "no",
                f"{float(one.mean_hops):.3f}",
                str(one.most_hops),
                f"{float(one.fullest):.6g}",
            )
            for one in self.found
        )
        titles = ("engine", "lanes", "lane", "shortest", "mean hops", "most hops", "fullest link")
        unit = "units of the traffic" if self.traffic else "pairs of nodes"
        factor = "" if self.all_to_all is None else f" All-to-all over the routes marked *: y = {self.all_to_all}."
        return Table(
            self.heading(),
            titles,
            rows,
            words=frozenset(("engine", "lane", "shortest")),
            footnote=f"* taken. Loads in {unit} over capacity.{factor}",
        )

    def files(self, form: str, ports: str | Path | None = None) -> str | dict[str, str]:
        """Return the tables in a format of ``FORMATS``: one text, or texts by file name.

        * ``form``: ``opensm``, ``linux``, ``frr`` or ``sonic``.
        * ``ports``: a table of what ports are called, see docs/routes.md; without it they are numbered.
        """
        as_choice("format", form, FORMATS)
        if self.chosen.ways.lanes > 1:
            raise ParameterError(f"{form} tables carry no lanes, and these routes need {self.chosen.ways.lanes}")
        out = self.chosen.ways.tables
        if out is None:
            raise ParameterError("two ways to one target part at a node; tables by target cannot say them")
        named = {} if ports is None else read_ports(ports, self.place)
        return FORMATS[form](Tables(self.place, out, named, self.plain))

    def save(self, path: str | Path, form: str, ports: str | Path | None = None) -> None:
        """Write the tables to a file (``opensm``) or to a new directory with a file a node."""
        content = self.files(form, ports)
        if isinstance(content, str):
            write_whole(as_path(path), content)
        else:
            write_directory(as_path(path), content)


def routes(
    place: PlaceLike,
    *,
    lanes: int | None = None,
    traffic: MatrixLike | None = None,
    engine: str = "auto",
    seed: int = 0,
    progress: Progress | None = None,
) -> Routes:
    """Route every pair of nodes so that no messages can wait for each other in a circle.

    Where there are switches, these alone pass on; else the nodes do. The ways of all engines are proved by an order of
    the channels (links in lanes) in which every way goes up, by code that knows no engine.

    Parameters
    ----------
    place
        A topology or a fabric, its spec or file.
    lanes
        The most lanes (virtual channels). Of what the engines find then, that with the least full link is taken, with
        detours if need be; without a limit the shortest paths in as few lanes as were found.
    traffic
        What goes from where to where: a table ``src,dst,amount``, a matrix, or a distribution such as ``zipf:1.2`` that
        is drawn with the seed (see :func:`topodesign.pricing.traffic_matrix.as_demand`); without it as much for all.
    engine
        One of ``ENGINES``, or ``auto`` for all.
    seed
        Settles the order in which targets are routed, 0 for that of their numbers, and what a distribution draws.
    progress
        Called now and then with the share of the work that is done.

    Raises
    ------
    InfeasibleError
        If none of the engines needs so few lanes: where links go one way only, one lane is seldom enough.
    ParameterError, FileFormatError, TooLargeError, DisconnectedError
        If something cannot be read, is too large or not connected.

    Examples
    --------
    >>> from topodesign import routes
    >>> found = routes("torus(8,8)")
    >>> found.chosen.engine, found.chosen.ways.lanes, found.all_to_all
    ('dateline', 2, Fraction(4, 1))
    """
    most = MOST_LANES if lanes is None else as_integer("lanes", lanes, 1, MOST_LANES)
    names = list(ENGINES) if engine == "auto" else [as_choice("engine", engine, ("auto", *ENGINES))]
    there = as_place(place)
    fabric = as_fabric(there)
    topology = fabric.topology
    if topology.nodes > MOST_NODES:
        raise TooLargeError(f"routes are for at most {MOST_NODES} nodes and switches, not {topology.nodes}")
    if len(fabric.compute) < 2:
        raise InfeasibleError("one node alone needs no routes")
    hops = sum(int(distances(topology, node)[list(fabric.compute)].clip(0).sum()) for node in fabric.compute)
    if hops > MOST_HOPS:
        raise TooLargeError(f"the ways of all pairs have {hops} hops, more than {MOST_HOPS}; take fewer nodes")
    nodes = len(fabric.compute)
    even = np.ones((nodes, nodes), dtype=np.int64)
    drawn = as_seed(seed) if is_drawn(traffic) else None
    weight = as_demand(even if traffic is None else traffic, fabric, seed=drawn).amounts
    question = Question(topology, weight, most, as_seed(seed))
    found = []
    for name in each(names, progress):
        one = _routing(question, name, limited=lanes is not None or engine != "auto")
        found += [] if one is None else [one]
    if not found:
        what = "no engine takes" if engine == "auto" else f"{engine} does not take"
        way = "" if topology.is_duplex else "; links that go one way only close circles, so give more"
        raise InfeasibleError(f"{what} {counted(most, 'lane')} for {fabric.name}{way}")
    if lanes is None:
        found.sort(key=lambda one: (not one.shortest, one.ways.lanes, one.fullest))
    else:
        found.sort(key=lambda one: (one.fullest, one.mean_hops, one.ways.lanes))
    said = traffic if isinstance(traffic, str | Path) else "a matrix"
    return Routes(fabric, None if traffic is None else str(said), tuple(found), isinstance(there, Topology))


def _routing(question: Question, name: str, *, limited: bool) -> Routing | None:
    """Return what an engine finds, proved; with detours in one lane unless a number of lanes is given."""
    asked = question
    if name in _DETOURS and not limited:
        asked = Question(question.topology, question.weight, 1, question.seed)
    ways = ENGINES[name](asked)
    if ways is None:
        return None
    order = channel_order(ways)
    wrong = problems(ways, order, question.ends)
    if order is None or wrong:
        raise InfeasibleError(f"the routes of {name} are wrong: {'; '.join(wrong)}; please report this")
    return Routing(
        name,
        ways,
        int(ways.lengths.sum()) == question.least_hops,
        ways.mean_hops(question.weight),
        int(ways.lengths.max()),
        ways.fullest(question.weight),
        len(dependencies(ways)[0]),
        order,
    )


_DETOURS = frozenset({"confined", "turns"})

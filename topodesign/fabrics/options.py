"""Options of the place: members, failures, machine, switch abilities.

Types are named as text, and so not imported: a help text needs none of them.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal, TypedDict, get_args

from topodesign.base.options import Amount, Choice, Either, Flag, Option, Text, WholeKind
from topodesign.base.units import Quantity, as_bandwidth

if TYPE_CHECKING:
    from topodesign.fabrics.groups import Groups, Placement
    from topodesign.fabrics.part import Others, Some


WITHOUT = Option(
    "A link that is down in both directions, A>B for one, or the name of a node or switch; ends of links may be "
    "patterns; may be repeated.",
    default=(),
    metavar="A-B",
    many=True,
    flags=("--fail",),
)
LEFT = replace(
    WITHOUT,
    about=WITHOUT.about.replace("; may be", "; A-B=0.5 for a link of which that share is left; may be"),
    flags=("--fail", "--degrade"),
)
READY = Option(
    "When nodes are ready that are not from the start: NODE=TIME,... with names or patterns, times for the nodes in "
    "their order, or a .csv file with the columns node,ready.",
    metavar="TIMES",
)


class PartOptions(TypedDict, total=False):
    """Members and failures, for :func:`topodesign.fabrics.part.select_part`."""

    only: Annotated[
        "Some",
        Option(
            "Nodes that take part: names or patterns such as 'box0/*', with commas between; may be repeated.",
            default=(),
            metavar="NODES",
            many=True,
            flags=("--members",),
        ),
    ]
    others: Annotated[
        "Others",
        Option(
            "Whether other nodes forward data, or are removed.",
            Either(("vanish", "forward")),
            default="vanish",
            flags=("--forward/--no-forward",),
        ),
    ]
    without: Annotated["Some", LEFT]


class GroupOptions(TypedDict, total=False):
    """Simultaneous groups, for :func:`topodesign.fabrics.groups.as_groups`."""

    group: Annotated[
        "Groups",
        Option(
            "Nodes that do it among themselves, several groups at the same time: names or patterns with commas between "
            "for each; a shape and axes, such as 8x16x4:0, for all equal groups along an axis of an array of ranks, "
            "the first axis fastest; or a .csv file with the columns node,group. May be repeated.",
            default=(),
            metavar="NODES",
            many=True,
        ),
    ]
    placement: Annotated[
        "Placement | None",
        Option(
            "On which nodes the ranks of a shape are: their names in the order of the ranks with commas between, or a "
            ".csv file with the columns rank,node; else in the order of the nodes.",
            metavar="NODES",
        ),
    ]


class PlaceOptions(PartOptions, GroupOptions, total=False):
    """The place of a collective: members, failures, groups and switches."""

    unwind: Annotated[
        str | int | None,
        Option(
            "Links in place of switches: D out of each neighbour, all, or ring (both ways); without it sends go through"
            " switches as they are, one chunk at a time at every port.",
            Text(),
            metavar="D",
        ),
    ]


MachineTool = Literal["nvidia-smi-topo", "nccl-topo", "rocm-smi-topo", "lstopo"]


class MachineOptions(TypedDict, total=False):
    """The tool of a machine, and what it leaves open.

    The number of boxes, and bandwidths in each direction.
    """

    tool: Annotated[
        MachineTool,
        Option(
            "The file is what this tool of a machine printed or wrote: 'nvidia-smi topo -m', NCCL_TOPO_DUMP_FILE, "
            "'rocm-smi --showtopo' (or 'amd-smi topology'), or 'lstopo --of xml'.",
            Choice(get_args(MachineTool)),
            flags=("--from",),
        ),
    ]
    boxes: Annotated[
        int,
        Option(
            "So many boxes of the kind; cards with the same place in all of them share a switch.",
            WholeKind(1, 2**20),
            default=1,
            metavar="B",
        ),
    ]
    nics: Annotated[
        str | None,
        Option("Network cards that count: names or patterns with commas between; else all.", Text(), metavar="NAMES"),
    ]
    nic: Annotated[
        Quantity | None,
        Option("What a network card carries, where it is not specified.", Amount(as_bandwidth), metavar="RATE"),
    ]
    link: Annotated[
        Quantity | None,
        Option("What one link between accelerators carries, such as one NVLink.", Amount(as_bandwidth), metavar="RATE"),
    ]
    pcie: Annotated[
        Quantity | None, Option("What PCIe carries to an accelerator.", Amount(as_bandwidth), metavar="RATE")
    ]
    sockets: Annotated[Quantity | None, Option("What is between two processors.", Amount(as_bandwidth), metavar="RATE")]
    with_pcie: Annotated[
        bool | None,
        Option(
            "Whether PCIe is part of it; else only where links between accelerators do not join all of them.",
            Flag("without-pcie"),
        ),
    ]

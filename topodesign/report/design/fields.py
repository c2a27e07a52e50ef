"""Request fields for files, Python arguments and ``topodesign design --init``.

Types of other folders stand here as text, so that a help text imports nothing of them.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from topodesign.base.options import Choice, Option, WholeKind
from topodesign.base.units import Quantity

if TYPE_CHECKING:
    from topodesign.fabrics.places import PlaceLike
    from topodesign.pricing.mix import Mix
    from topodesign.report.design.request import Aim, Cabling
    from topodesign.wiring.inventory.files import InventoryLike

MAX_NODES, MAX_DEGREE, MAX_SURVIVED = 2**13, 64, 8


class RequestOptions(TypedDict, total=False):
    """Request fields: machines, workload, room and preferences."""

    name: Annotated[str, Option("What the request is called.", metavar="TEXT")]
    nodes: Annotated[
        int, Option("Hosts or accelerators that take part; of a room all hosts.", WholeKind(2, MAX_NODES), metavar="N")
    ]
    boxes: Annotated[int, Option("Boxes instead of nodes, each a box as below.", WholeKind(2, MAX_NODES), metavar="N")]
    box: Annotated[str, Option("The box: a preset such as dgx_h100, or a fabric file.", metavar="FABRIC")]
    degree: Annotated[
        int,
        Option(
            "Ports out of, and into, each node or box; of a room all lanes of a host, of a box all ports of its NICs.",
            WholeKind(1, MAX_DEGREE),
            metavar="D",
        ),
    ]
    bandwidth: Annotated[
        Quantity,
        Option("Of a node over all its ports, such as 400Gbps or 4x25Gbps; boxes have their own.", metavar="RATE"),
    ]
    alpha: Annotated[Quantity, Option("Latency of a step.", default="10us", metavar="TIME")]
    gap: Annotated[
        Quantity | None, Option("Between the starts of two messages at one port.  [default: 200ns]", metavar="TIME")
    ]
    hop: Annotated[Quantity | None, Option("In a switch, beside alpha.  [default: 300ns]", metavar="TIME")]
    workload: Annotated[
        "Mix | str | Path | Mapping[str, Any]",
        Option(
            "What a training step sends: a file such as the example workload_moe.yaml, or its fields themselves.",
            metavar="FILE",
        ),
    ]
    model: Annotated[
        "str | Path | Mapping[str, Any] | None",
        Option(
            "A model that is trained, by whose step contenders are ranked: a file such as the example "
            "model_mixtral.yaml, or its fields themselves; instead of a workload.",
            metavar="FILE",
        ),
    ]
    cabling: Annotated[
        "Cabling",
        Option(
            "simplex: links of one way are allowed, too; duplex: all go both ways.",
            Choice(("simplex", "duplex")),
            default="simplex",
        ),
    ]
    room: Annotated[
        "InventoryLike | Mapping[str, Any] | None",
        Option(
            "Hosts, panels and switches to wire it in: an inventory, or of a room to plan how many 'panels', of which "
            "'kind' and 'mode'.",
            metavar="FILE",
        ),
    ]
    rivals: Annotated[
        "Iterable[PlaceLike]",
        Option(
            "What one would wire or buy otherwise: everyday names such as torus or fattree, specs, or files.",
            default=(),
            metavar="NAME",
            many=True,
            flags=("--rival",),
        ),
    ]
    prices: Annotated[
        Mapping[str, Quantity],
        Option(
            "Of a cable, a port of a node, a switch and a switch-port.", default=(), metavar="WHAT=PRICE", many=True
        ),
    ]
    watts: Annotated[Mapping[str, Quantity], Option("Of the same four.", default=(), metavar="WHAT=WATTS", many=True)]
    survive: Annotated[
        int,
        Option(
            "Links that may fail, whichever they are, with all still joined.",
            WholeKind(0, MAX_SURVIVED),
            default=0,
            metavar="K",
        ),
    ]
    grow: Annotated[
        Sequence[int],
        Option("Numbers of nodes to grow to, ascending.", WholeKind(3, MAX_NODES), default=(), metavar="N", many=True),
    ]
    optimise: Annotated[
        "Aim",
        Option("time of a step, price, or both: their product.", Choice(("time", "price", "both")), default="time"),
    ]

"""Options of priced work: latencies, data sizes and node bandwidth."""

from collections.abc import Iterable
from typing import Annotated, TypedDict

from topodesign.base.arguments import MAX_SEED
from topodesign.base.options import Option, WholeKind
from topodesign.base.units import Quantity

SIZES = Option(
    "Data size, such as 1MiB or 100MB; give it several times for one column each.",
    default="1MiB",
    metavar="SIZE",
    many=True,
    flags=("--size",),
)


class WorkOptions(TypedDict, total=False):
    """Latencies, sizes and bandwidth that collectives are priced for.

    Text with units, or numbers of seconds, bytes and bits per second.
    """

    alpha: Annotated[Quantity, Option("Latency of one communication step.", default="10us", metavar="TIME")]
    sizes: Annotated[Quantity | Iterable[Quantity], SIZES]
    bandwidth: Annotated[
        Quantity,
        Option(
            "Egress bandwidth of a node over all its links, such as 100Gbps, 12.5GB/s or 4x25Gbps.",
            default="100Gbps",
            metavar="RATE",
        ),
    ]


OWN_ALPHA = Option(
    "Latency of one communication step; 'fabric' for what the fabric says of each link.", default="10us", metavar="TIME"
)
"""The latency where links of a fabric may have some of their own."""


class OwnWorkOptions(TypedDict, total=False):
    """The same for fabrics with latencies and bandwidths of their own."""

    alpha: Annotated[Quantity, OWN_ALPHA]
    sizes: Annotated[Quantity | Iterable[Quantity], SIZES]
    bandwidth: Annotated[
        Quantity | None,
        Option(
            "Egress bandwidth of a node over all its links, 100Gbps by default; fabrics have their own.",
            metavar="RATE",
        ),
    ]


class ImproveOptions(TypedDict, total=False):
    """How a catalog is searched."""

    seed: Annotated[int, Option("Seed of all searches.", WholeKind(0, MAX_SEED), default=0, metavar="S")]
    jobs: Annotated[
        int | None,
        Option(
            "Processes that search, each at sizes of its own.  [default: one per core; 1 for less than 30 seconds, or "
            "for all-to-all]",
            WholeKind(1, 256),
            metavar="J",
        ),
    ]


class MessageOptions(TypedDict, total=False):
    """Costs of messages beside latency and bytes.

    They count where ports are shared and where there are switches.
    """

    gap: Annotated[
        Quantity | None,
        Option("Time between the starts of two messages at one port.  [default: 200ns]", metavar="TIME"),
    ]
    hop: Annotated[Quantity | None, Option("Time in a switch, beside alpha.  [default: 300ns]", metavar="TIME")]


class TimingOptions(WorkOptions, MessageOptions, total=False):
    """All that designs are priced for."""


class OwnTimingOptions(OwnWorkOptions, MessageOptions, total=False):
    """All that plans on a place are timed for."""

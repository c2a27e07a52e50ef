"""Options that say for what something is priced or timed: latencies, sizes of data, and the bandwidth of a node."""

from collections.abc import Iterable
from typing import Annotated, TypedDict

from topodesign.base.options import Option
from topodesign.base.units import Quantity


class WorkOptions(TypedDict, total=False):
    """What collectives are priced for; text with units, or numbers of seconds, bytes and bits per second."""

    alpha: Annotated[Quantity, Option("Latency of one communication step.", default="10us", metavar="TIME")]
    sizes: Annotated[
        Quantity | Iterable[Quantity],
        Option(
            "Data size, such as 1MiB or 100MB; give it several times for one column each.",
            default="1MiB",
            metavar="SIZE",
            many=True,
            flags=("--size",),
        ),
    ]
    bandwidth: Annotated[
        Quantity,
        Option(
            "Egress bandwidth of a node over all its links, such as 100Gbps, 12.5GB/s or 4x25Gbps.",
            default="100Gbps",
            metavar="RATE",
        ),
    ]


class MessageOptions(TypedDict, total=False):
    """What messages take beside latency and bytes; they count where ports are shared and where there are switches."""

    gap: Annotated[
        Quantity | None,
        Option("Time between the starts of two messages at one port.  [default: 200ns]", metavar="TIME"),
    ]
    hop: Annotated[Quantity | None, Option("Time in a switch, beside alpha.  [default: 300ns]", metavar="TIME")]


class TimingOptions(WorkOptions, MessageOptions, total=False):
    """All of them."""


OWN_ALPHA = Option(
    "Latency of one communication step; 'fabric' for what the fabric says of each link.", default="10us", metavar="TIME"
)
"""The same where links of a fabric may have latencies of their own."""
OWN_BANDWIDTH = Option(
    "Egress bandwidth of a node over all its links, 100Gbps if nothing is said; fabrics have their own.", metavar="RATE"
)
"""The same where a fabric may have bandwidths of its own."""

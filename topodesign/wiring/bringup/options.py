"""Options for interface names, addresses and routes of a plan."""

from pathlib import Path
from typing import Annotated, Literal, TypedDict, get_args

from topodesign.base.options import Choice, Option, PathOf, Text, WholeKind

RoutesTo = Literal["hosts", "all", "none"]
ROUTES: tuple[RoutesTo, ...] = get_args(RoutesTo)


class BringupOptions(TypedDict, total=False):
    """Bring-up options for addresses, interfaces and routes."""

    base: Annotated[
        str, Option("IPv4 network that addresses are taken from.", Text(), "10.64.0.0/12", metavar="NETWORK")
    ]
    subnet: Annotated[
        int,
        Option(
            "Length of the subnet that each cable has, such as 30, 31 or 24.", WholeKind(16, 31), 30, metavar="BITS"
        ),
    ]
    ipv6: Annotated[
        str | None, Option("IPv6 network, such as fd64::/48, that each cable has a /64 of beside.", metavar="NETWORK")
    ]
    mtu: Annotated[
        int, Option("Bytes of the largest packet on a cable.", WholeKind(1280, 65535), 9000, metavar="BYTES")
    ]
    interfaces: Annotated[
        str | Path | None,
        Option(
            "What ports are called where the inventory's names are no interfaces: a CSV (host,port,interface and, as "
            "needed, device: the RDMA device). Host * is any.",
            PathOf("file"),
            metavar="FILE",
        ),
    ]
    management: Annotated[
        str,
        Option(
            "Interface of a network that all hosts share, where ranks meet.  [default: over the cables]",
            Text(),
            "",
            metavar="INTERFACE",
        ),
    ]
    routes: Annotated[
        RoutesTo,
        Option(
            "What hosts have routes to through their neighbours: the other hosts, also all their cables, or nothing.",
            Choice(ROUTES),
            "hosts",
        ),
    ]
    node_type: Annotated[
        str, Option("What Tenstorrent calls the kind of hosts, such as N300_LB_DEFAULT.", Text(), "", metavar="NAME")
    ]

"""Sources of installed wiring, for Python and the command line."""

from pathlib import Path
from typing import Annotated, TypedDict

from topodesign.base.options import Option, PathOf

SOURCES = ("lldp", "ocs", "dumps", "netbox", "links", "export")
"""Sources of what was wired, of which one is given."""


class Observations(TypedDict, total=False):
    """Installed wiring from one source, with supplementary data."""

    lldp: Annotated[
        str | Path | None,
        Option(
            "What hosts hear: a directory with 'lldpctl -f json' or 'networkctl --json=short lldp' of each as "
            "HOST.json, or as HOST.txt their text or SONiC's 'show lldp table'; one such file, of pdsh too; what "
            "ibnetdiscover, iblinkinfo or UFM (.topo) says of all; a CSV (host,port,neighbour_host,neighbour_port); or "
            "links of sonic-mgmt, containerlab or a cut-sheet.",
            PathOf(),
            metavar="PATH",
        ),
    ]
    ocs: Annotated[
        str | Path | None,
        Option(
            "The circuits of a switch: SONiC's OCS_CROSS_CONNECT (.json) or port lists (.scpi), or a directory of "
            "both. Patches at panels count as planned.",
            PathOf(),
            metavar="PATH",
        ),
    ]
    dumps: Annotated[
        str | Path | None,
        Option(
            "All reports: HOST.json or HOST.txt of hosts, SWITCH.json or SWITCH.scpi of switches, light.csv, "
            "HOST.ethtool.",
            PathOf("directory"),
            metavar="DIR",
        ),
    ]
    netbox: Annotated[
        str | Path | None,
        Option(
            "The cables that NetBox has as connected: its address (the token in NETBOX_TOKEN), or its list of cables "
            "as exported to CSV.",
            metavar="SOURCE",
        ),
    ]
    links: Annotated[
        str | Path | None,
        Option(
            "What link_test.py of 'wire export --format bringup' printed on each host, as HOST.json.",
            PathOf(),
            metavar="DIR",
        ),
    ]
    export: Annotated[
        str | Path | None,
        Option(
            "What 'wire export' wrote (patches, netbox, sonic or scpi) and others may have changed.",
            PathOf(),
            metavar="PATH",
        ),
    ]
    light: Annotated[
        str | Path | None,
        Option(
            "The power that arrives, which says which of two fibres is dark: a CSV (host,port,rx_dbm), or what "
            "'ethtool -m' prints as HOST.INTERFACE.ethtool, or HOST.ethtool with the interface before each, or "
            "'mlxlink -m' as HOST.INTERFACE.mlxlink; a file or a directory.",
            PathOf(),
            metavar="FILE",
        ),
    ]
    interfaces: Annotated[
        str | Path | None,
        Option(
            "What hosts call the ports that the plan names otherwise: a CSV (host,port,interface). Host * is any; a "
            "row with port * gives another name of a host.",
            PathOf("file"),
            metavar="FILE",
        ),
    ]

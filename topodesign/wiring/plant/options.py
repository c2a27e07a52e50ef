"""How it is looked for what a plant can carry: each option once, for Python and for the command line."""

from typing import Annotated

from topodesign.base.options import Amount, Option, Text, Whole
from topodesign.base.units import Quantity, as_time
from topodesign.base.work_options import WorkOptions


class CarryOptions(WorkOptions, total=False):
    """How long to search, and what hosts are joined by without switches."""

    cube: Annotated[
        str | None,
        Option(
            "Hosts of a pod are a mesh of so many along x, y and z, joined by links that are fixed; their ports +x to "
            "-z end at switches that join a '+' to a '-'. Shows every slice of N hosts, and what beats the tori.",
            Text(),
            metavar="AxBxC",
        ),
    ]
    search: Annotated[
        Quantity | None,
        Option(
            "Time to search in; 10 seconds where some of what is known does not fit.", Amount(as_time), metavar="TIME"
        ),
    ]
    seed: Annotated[int, Option("Of all searches.", Whole(), 0)]

"""How it is looked for what a plant can carry: each option once, for Python and for the command line."""

from typing import Annotated

from topodesign.base.options import Amount, Option, Whole
from topodesign.base.units import Quantity, as_time
from topodesign.base.work_options import WorkOptions


class CarryOptions(WorkOptions, total=False):
    """How long to search."""

    search: Annotated[
        Quantity | None,
        Option(
            "Time to search in; 10 seconds where some of what is known does not fit.", Amount(as_time), metavar="TIME"
        ),
    ]
    seed: Annotated[int, Option("Of all searches.", Whole(), 0)]

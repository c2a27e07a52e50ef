"""How a plan is applied to circuit switches: each option once, for Python and for the command line."""

from functools import partial
from pathlib import Path
from typing import Annotated, TypedDict

from topodesign.base.options import Amount, Choice, Flag, Option, PathOf, Whole
from topodesign.base.units import Quantity, as_time
from topodesign.wiring.switches.engine import ROLLBACKS, Rollback
from topodesign.wiring.switches.kinds import SPELLINGS, Spelling

_TIME = partial(Option, kind=Amount(as_time), metavar="TIME")
_FILE = partial(Option, kind=PathOf("file"), metavar="FILE")


class ApplyOptions(TypedDict, total=False):
    """What may be changed and how fast, what is noted, and how long switches are waited for."""

    only: Annotated[bool, Option("Remove what else is in a switch, also between ports of no host.", Flag(), False)]
    most_dark: Annotated[int, Option("Dark links a host at a time.", Whole(1), 1, metavar="K", flags=("--max-dark",))]
    downtime: Annotated[bool, Option("Move everything in one stage, whatever is dark meanwhile.", Flag(), False)]
    rollback: Annotated[
        Rollback,
        Option("What to undo where a stage fails: all stages, that one, or nothing.", Choice(ROLLBACKS), "all"),
    ]
    journal: Annotated[
        str | Path | None,
        _FILE(
            "Note there what is read and sent before it is sent, after what is in it already; without it the command "
            "has PLAN.journal, and Python none."
        ),
    ]
    resume: Annotated[
        bool, Option("Go on after an apply that did not end, of which that is the journal.", Flag(), False)
    ]
    spelling: Annotated[
        Spelling,
        Option(
            "Of SONiC's commands: 'config ocs cross-connect', or as generated from YANG 'config ocs-cross-connect'.",
            Choice(SPELLINGS),
            "ocs",
        ),
    ]
    timeout: Annotated[Quantity, _TIME("To wait for a connection and for an answer.", default="10s")]
    patience: Annotated[
        Quantity, _TIME("To wait for a switch that went away, before its state is called unknown.", default="60s")
    ]
    pause: Annotated[Quantity, _TIME("Between two readings that have to agree.", default="0.5s")]
    known_hosts: Annotated[str | Path | None, _FILE("Keys of SONiC switches, as of ssh.  [default: those of the user]")]

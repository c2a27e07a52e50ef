"""What is known of the program that a log is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from topodesign.base.declared import Declared
from topodesign.base.errors import FileFormatError


@dataclass(frozen=True, slots=True)
class About(Declared):
    """What a program is for, as far as its file says."""

    name: str  # what it calls itself
    collective: str  # what it does, in small letters without hyphens
    ranks: int | None  # for how many; null where it is not said
    chunks: int | None  # a call has a multiple of them; null where it is not said
    inplace: bool  # whether it serves calls in place
    outofplace: bool  # whether it serves calls out of place
    smallest: int = 0  # bytes of the whole data of the smallest call
    largest: int | None = None  # bytes of the largest; null without a limit

    KEYS = "name collective ranks chunks inplace outofplace smallest largest"


def about_plan(document: Any) -> About:
    """Return what an MSCCL++ plan is for."""
    if not isinstance(document, dict) or not isinstance(document.get("gpus"), list):
        raise FileFormatError("JSON, but no plan of MSCCL++: it has no gpus")
    name, collective, inplace = (document.get(key) for key in ("name", "collective", "inplace"))
    if not isinstance(name, str) or not isinstance(collective, str):
        raise FileFormatError("a plan of MSCCL++ has a name and a collective")
    least, most = (document.get(key) for key in ("min_message_size", "max_message_size"))
    return About(
        name,
        collective.lower().replace("-", "").replace("_", ""),
        len(document["gpus"]),
        None,
        bool(inplace),
        not inplace,
        least if isinstance(least, int) else 0,
        most if isinstance(most, int) and 0 < most < 2**63 - 1 else None,
    )

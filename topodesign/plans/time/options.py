"""Conditions of a simulation beside sizes and rates."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypedDict, get_args

from topodesign.base.arguments import MAX_SEED
from topodesign.base.options import Amount, Choice, Option, PathOf, WholeKind
from topodesign.base.units import Quantity, as_time
from topodesign.fabrics.options import READY, WITHOUT

if TYPE_CHECKING:
    from topodesign.fabrics.node_values import Ready
    from topodesign.topology.link_table import LinkTable

Mode = Literal["lock-step", "asynchronous"]
MODES: tuple[Mode, ...] = get_args(Mode)


class ConditionOptions(TypedDict, total=False):
    """Dependencies, unequal or failed links, and delays."""

    mode: Annotated[
        Mode,
        Option("Whether steps wait for each other, or only sends for their data and links.", Choice(MODES), MODES[0]),
    ]
    failed: Annotated[
        Iterable[str | tuple[int, int] | tuple[str, str]],
        Option(
            "A link that carries nothing, by the numbers of its ends (of a fabric their names); may be repeated.",
            default=(),
            metavar="U,V",
            many=True,
            flags=("--failed-link",),
        ),
    ]
    without: Annotated[Iterable[str], WITHOUT]
    links: Annotated[
        "LinkTable | str | Path | None",
        Option(
            "Other latencies and bandwidths for some links (src,dst,alpha,bandwidth).",
            PathOf("file"),
            metavar="CSV",
            flags=("--link-table",),
        ),
    ]
    chunks: Annotated[
        int | None,
        Option("Of trees and paths: chunks that the data of each is cut into; without it as many as are fastest."),
    ]
    jitter: Annotated[
        Quantity,
        Option("Of timed sends: each is late by up to so much, by chance.", Amount(as_time), "0s", metavar="TIME"),
    ]
    seed: Annotated[int, Option("Of the jitter.", WholeKind(0, MAX_SEED), 0, metavar="S")]
    ready: Annotated["Ready | None", READY]

"""Options of a question, for Python and the command line."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, TypedDict

from topodesign.base.arguments import MAX_SEED
from topodesign.base.options import Amount, Choice, Option, PathOf, WholeKind
from topodesign.base.units import Quantity, as_share, as_time
from topodesign.base.work_options import SIZES, WorkOptions
from topodesign.pricing.mix import PRICED, Mix


class RankOptions(TypedDict, total=False):
    """Criterion for ranking, and the seed of searches."""

    collective: Annotated[
        str | None,
        Option(
            "Rank by another collective than allreduce; with --workload, time it in a further column.",
            Choice(PRICED),
        ),
    ]
    workload: Annotated[
        Mix | str | Path | None,
        Option(
            "Rank by all that a training step sends: a list of collectives with sizes and counts (YAML or JSON), such "
            "as the example workload_moe.yaml. A --collective or --size besides is timed in further columns.",
            PathOf("file"),
            metavar="FILE",
        ),
    ]
    seed: Annotated[int | None, Option("Seed of the search.  [default: 0]", WholeKind(0, MAX_SEED), metavar="S")]


class BoxOptions(RankOptions, total=False):
    """Ranking options for boxes, with message sizes."""

    sizes: Annotated[Quantity | Iterable[Quantity], SIZES]


class FindOptions(WorkOptions, RankOptions, total=False):
    """Options for ranking, search, limits and next best topologies."""

    search: Annotated[
        Quantity | None,
        Option(
            "Time to search Cayley digraphs for more than the catalog has; 0 looks at the known families and their "
            "expansions only. Without it the catalog's answer is enough; where it has none, 3 seconds. With "
            "--inventory: 10 seconds where some of what is known does not fit.",
            Amount(as_time),
            metavar="SECONDS",
        ),
    ]
    max_steps: Annotated[int | None, Option("Only topologies with up to K steps.", WholeKind(1), metavar="K")]
    within: Annotated[
        Quantity | None,
        Option(
            "Only topologies whose bandwidth factor is within this share of (N-1)/N, such as 5%.",
            Amount(lambda value: as_share(value, "within")),
            metavar="PERCENT",
        ),
    ]
    runners_up: Annotated[
        int,
        Option(
            "Add the K next best for each criterion: time, steps, bandwidth, duplex, vertex-transitive, simple wiring.",
            WholeKind(0, 100),
            0,
            "K",
            flags=("--top",),
        ),
    ]

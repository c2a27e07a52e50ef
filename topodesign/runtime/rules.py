"""What each runtime accepts and does, as a table, each rule with where it was read.

Numbers of MSCCL runtimes are those of ``PROFILES``, which compiler and checker keep to; what is here is where they
stand in the sources, and the rules that are no numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from topodesign.base.arguments import as_choice
from topodesign.base.records import Result
from topodesign.runtime.mscclpp.limits import EXECUTOR as PLAN
from topodesign.runtime.profiles import PROFILES, RuntimeProfile
from topodesign.runtime.signs import EXECUTOR, MSCCL, MSCCLPP, RCCL

ASTRA = "astra-sim/astra-sim 518bd51"
NETWORK = "astra-sim/astra-network-analytical 599a047"
_ASTRACCL = "astra-sim/system/astraccl"
_CUSTOM = f"{_ASTRACCL}/custom_collectives/CustomAlgorithm.cc"
_PLAN = "src/core/include/execution_common.hpp"
_SELECTOR = "src/ext/nccl/algorithm_selector.cc"
COMMITS = {"msccl": MSCCL, "msccl-executor": EXECUTOR, "rccl": RCCL, "mscclpp": MSCCLPP, "astra-sim": ASTRA}
"""What was read of each runtime: repository and commit."""

_PARSER, _SETUP, _LIFECYCLE = (f"src/misc/msccl/msccl_{word}.cc" for word in ("parser", "setup", "lifecycle"))
_STRUCT, _READER = "src/include/msccl/msccl_struct.h", "src/include/msccl/msccl_parser.h"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of one runtime.

    Attributes
    ----------
    rule
        What it is about.
    runtime
        Whose it is.
    says
        The number or the rule.
    source
        Where it was read: file and line, in the repository and at the commit that ``COMMITS`` names.
    """

    rule: str
    runtime: str
    says: str
    source: str


@dataclass(frozen=True, repr=False)
class Rules(Result):
    """Rules of runtimes.

    Attributes
    ----------
    rules
        In the order of the table.
    """

    rules: tuple[Rule, ...]

    def to_records(self) -> list[dict[str, Any]]:
        """Return a row for every rule of every runtime."""
        return [
            {
                "runtime": one.runtime,
                "rule": one.rule,
                "says": one.says,
                "source": f"{COMMITS.get(one.runtime, '')} {one.source}".strip(),
            }
            for one in self.rules
        ]

    def record(self) -> dict[str, Any]:
        """Return the JSON document."""
        return {"rules": self.to_records()}

    def __str__(self) -> str:
        """Return the rules of each runtime below what was read of it."""
        lines = []
        for name, commit in COMMITS.items():
            own = [one for one in self.rules if one.runtime == name]
            lines += [f"{name}: {commit}"] if own else []
            lines += [f"  {one.rule}: {one.says} ({one.source})" for one in own]
        return "\n".join(lines)


_Number = Callable[[RuntimeProfile], object]
_NUMBERS: tuple[tuple[str, _Number, tuple[str, str, str]], ...] = (
    (
        "steps of a threadblock",
        lambda one: one.steps_per_threadblock,
        ("src/include/msccl.h:6", "makefiles/common.mk:19", f"{_STRUCT}:16"),
    ),
    (
        "threadblocks of a rank",
        lambda one: one.threadblocks_per_rank,
        ("src/include/msccl.h:65", f"{_STRUCT}:58", f"{_STRUCT}:18"),
    ),
    (
        "threadblocks of a channel",
        lambda one: one.threadblocks_per_channel,
        ("src/include/msccl.h:7", f"{_STRUCT}:17", f"{_STRUCT}:17"),
    ),
    (
        "channels",
        lambda one: one.channels,
        ("src/include/devcomm.h:51", "src/include/device.h:65", "src/include/device.h:65"),
    ),
    (
        "chunks of a step",
        lambda one: one.chunks_per_step,
        ("src/include/msccl.h:10", f"{_STRUCT}:19", f"{_STRUCT}:19"),
    ),
    (
        "largest chunk offset",
        lambda one: one.largest_offset,
        ("src/include/msccl.h:46", f"{_STRUCT}:44", f"{_STRUCT}:44"),
    ),
    (
        "reductions fused",
        lambda one: one.reductions_per_step,
        ("src/include/msccl.h:11", f"{_STRUCT}:20", f"{_STRUCT}:20"),
    ),
    (
        "XML nodes of a rank",
        lambda one: one.xml_nodes_per_rank,
        ("src/graph/xml.h:19", f"{_READER}:23", f"{_READER}:23"),
    ),
    (
        "children of an XML node",
        lambda one: one.children_per_node,
        ("src/graph/xml.h:18", f"{_READER}:22", f"{_READER}:22"),
    ),
    (
        "attributes of an XML node",
        lambda one: one.attributes_per_node,
        ("src/graph/xml.h:17", f"{_READER}:21", f"{_READER}:21"),
    ),
    (
        "attributes that may lack",
        lambda one: ", ".join(sorted(one.optional)) or "none",
        ("src/graph/topo.cc:787-806", f"{_PARSER}:375-390", f"{_PARSER}:375-390"),
    ),
    (
        "calls of just maxBytes",
        lambda one: "not served" if one.strict_sizes else "served; 0 is any size",
        ("src/graph/tuning.cc:369", f"{_LIFECYCLE}:335", f"{_LIFECYCLE}:334"),
    ),
    (
        "scratch is taken",
        lambda one: "for maxBytes at the start" if one.scratch_at_start else "by the first call",
        ("src/init.cc:814", f"{_SETUP}:69", f"{_SETUP}:442"),
    ),
    (
        "joins ranks in a ring and trees",
        lambda one: "at the start, unless cuMem is on at every rank" if one.joins_late else "at the start, always",
        ("src/init.cc:761-779", "src/init.cc:1211-1229", "src/init.cc:1690-1714"),
    ),
    (
        "reduce-scatter is called",
        lambda one: next(word for word, value in one.collectives.items() if value.name == "reduce-scatter"),
        ("src/graph/topo.cc:837", f"{_PARSER}:347", f"{_PARSER}:347"),
    ),
)
_RULES: tuple[tuple[str, Mapping[str, tuple[str, str]]], ...] = (
    (
        "switched on by",
        {
            "msccl": ("NCCL_ALGO with MSCCL in it", "src/graph/tuning.cc:186"),
            "msccl-executor": ("nothing (NCCL_MSCCL_ENABLE=0 is off)", f"{_LIFECYCLE}:27"),
            "rccl": ("known machines, else RCCL_MSCCL_FORCE_ENABLE=1", f"{_LIFECYCLE}:354"),
            "mscclpp": ("its library in place of libnccl", "src/ext/nccl/nccl.cc:281"),
            "astra-sim": (
                "*-implementation-custom in system.json",
                f"{_ASTRACCL}/CollectiveImplLookup.cc:133",
            ),
        },
    ),
    (
        "programs at most",
        {
            "msccl": ("4", "src/include/msccl.h:9"),
            "msccl-executor": ("1024", f"{_STRUCT}:21"),
            "rccl": ("1024", f"{_STRUCT}:21"),
        },
    ),
    (
        "a call must be",
        {
            "msccl": ("in or out of place as said, a multiple of the chunks", "src/graph/tuning.cc:348-369"),
            "msccl-executor": ("in or out of place as said, a multiple of the chunks", f"{_LIFECYCLE}:300-339"),
            "rccl": ("in or out of place as said, a multiple of the chunks", f"{_LIFECYCLE}:304-338"),
            "mscclpp": (
                "of its ranks, ranks per node, collective, place, size",
                f"{_SELECTOR}:38",
            ),
            "astra-sim": ("any; sizes of messages are those of the trace", f"{_CUSTOM}:68"),
        },
    ),
    (
        "the root of a call",
        {
            "msccl": ("is not looked at", "src/graph/tuning.cc:344-380"),
            "msccl-executor": ("is not looked at", f"{_LIFECYCLE}:300-346"),
            "rccl": ("is not looked at", f"{_LIFECYCLE}:304-346"),
            "mscclpp": ("is not looked at", f"{_SELECTOR}:38"),
        },
    ),
    (
        "several GPUs in a process",
        {
            "msccl-executor": ("no program is used", f"{_LIFECYCLE}:219"),
            "rccl": ("allowed (RCCL_MSCCL_ENABLE_SINGLE_PROCESS)", f"{_LIFECYCLE}:31"),
        },
    ),
    (
        "averages and own operations",
        {
            "msccl": ("no program is used", "src/graph/tuning.cc:345"),
            "msccl-executor": ("no program is used", f"{_LIFECYCLE}:305"),
            "rccl": ("no program is used", f"{_LIFECYCLE}:308"),
            "mscclpp": ("always adds", "src/core/include/execution_kernel.hpp"),
        },
    ),
    (
        "what ran a call is said",
        {
            "msccl": ("with TRACE=1 only", "src/enqueue.cc:483"),
            "msccl-executor": ("MSCCL: Setup Kernel finished", f"{_SETUP}:483"),
            "rccl": ("mscclFuncAllReduce: opCount ...", f"{_LIFECYCLE}:406"),
            "mscclpp": ("Starting execution with plan", "src/core/executor/executor.cc:551"),
            "astra-sim": ("sys[RANK] finished, T cycles", "astra-sim/workload/Workload.cc:571"),
        },
    ),
    (
        "NICs of a rank",
        {"mscclpp": ("one, by its number in its host, for all other hosts", "src/core/executor/executor.cc:292")},
    ),
    (
        "operations of a threadblock",
        {"mscclpp": (str(PLAN.operations), f"{_PLAN}:17")},
    ),
    (
        "channels of a type",
        {"mscclpp": (f"{PLAN.channels}, unchecked", f"{_PLAN}:15")},
    ),
    (
        "channels of an operation",
        {"mscclpp": (f"{PLAN.channels_per_operation}, unchecked", f"{_PLAN}:16")},
    ),
    (
        "semaphores",
        {
            "mscclpp": (
                f"{PLAN.semaphores_per_operation} of an operation, unchecked",
                f"{_PLAN}:20",
            )
        },
    ),
    (
        "a size that does not divide",
        {"mscclpp": ("throws", "src/core/executor/execution_plan.cc:303")},
    ),
    (
        "networks",
        {"astra-sim": ("one dimension, all links alike", f"{NETWORK} congestion_aware/topology/Helper.cpp:27")},
    ),
    (
        "a GB/s",
        {"astra-sim": ("2^30 bytes; times are whole ns, cut off", f"{NETWORK} common/NetworkFunction.cpp:16")},
    ),
    (
        "sends of a rank at once",
        {"astra-sim": ("any in a collective, one in a workload", "astra-sim/workload/HardwareResource.cc:79")},
    ),
    (
        "a compute node takes",
        {"astra-sim": ("at least 1 ns", f"{_CUSTOM}:88")},
    ),
    (
        "broadcast, reduce",
        {"astra-sim": ("not from traces; under another name", "astra-sim/workload/Workload.cc:371, 389")},
    ),
)


def runtime_rules(runtime: str | None = None) -> Rules:
    """Return the limits and rules of runtimes, each with where it was read.

    Parameters
    ----------
    runtime
        One of ``COMMITS``; None for all.

    Raises
    ------
    ParameterError
        If there is no such runtime.

    Examples
    --------
    >>> from topodesign import runtime_rules
    >>> next(one.says for one in runtime_rules("mscclpp").rules if one.rule == "operations of a threadblock")
    '64'
    """
    if runtime is not None:
        as_choice("runtime", runtime, COMMITS)
    return Rules(tuple(one for one in _all() if runtime in {None, one.runtime}))


def _all() -> Iterator[Rule]:
    for rule, number, sources in _NUMBERS:
        for name, source in zip(("msccl", "msccl-executor", "rccl"), sources, strict=True):
            yield Rule(rule, name, str(number(PROFILES[name])), source)
    for rule, by_runtime in _RULES:
        for name, (says, source) in by_runtime.items():
            yield Rule(rule, name, says, source)

"""Rules of runtimes (``rules.toml``) and log signs (``signs.toml``).

Numbers in rules are those of ``PROFILES`` and of MSCCL++'s executor, which compiler and checker keep to. To teach the
doctor another line of a log, add it to the signs; the first that matches a line counts.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from topodesign.base.arguments import as_choice
from topodesign.base.declared import Declared
from topodesign.base.records import Result
from topodesign.runtime.connections import LAZY, RELAY
from topodesign.runtime.msccl.profiles import PROFILES, RuntimeProfile
from topodesign.runtime.mscclpp.limits import EXECUTOR

SOURCES = {
    "msccl": "microsoft/msccl b23e9cd",
    "msccl-executor": "Azure/msccl-executor-nccl c6f6b36",
    "msccl-scheduler": "Azure/msccl-scheduler a0bfca1",
    "rccl": "ROCm/rccl 0cbce2a",
    "mscclpp": "microsoft/mscclpp 1f5f065",
    "nccl": "NVIDIA/nccl 5067397",
    "astra-sim": "astra-sim/astra-sim 518bd51",
    "astra-network": "astra-sim/astra-network-analytical 599a047",
    "mlx": "ml-explore/mlx 846d176",
    "nccl-mesh-plugin": "autoscriptlabs/nccl-mesh-plugin 679a394",
}
"""What was read: repositories and commits."""

COMMITS = {name: SOURCES[name] for name in ("msccl", "msccl-executor", "rccl", "mscclpp", "astra-sim")}
"""The runtimes that have rules, and what was read of each."""


@dataclass(frozen=True, slots=True)
class Rule(Declared):
    """One rule of one runtime."""

    rule: str  # what it is about
    runtime: str  # whose it is
    says: str  # the number or the rule
    source: str

    KEYS = "runtime rule says source=read"

    @property
    def read(self) -> str:
        """Where it was read: repository, commit, file and line."""
        return f"{COMMITS.get(self.runtime, '')} {self.source}".strip()


@dataclass(frozen=True, repr=False)
class Rules(Result):
    """Rules of runtimes."""

    rules: tuple[Rule, ...]  # one for each rule of each runtime

    KEYS = "rules"
    ROWS = "rules"

    def __str__(self) -> str:
        lines = []
        for name, commit in COMMITS.items():
            own = [one for one in self.rules if one.runtime == name]
            lines += [f"{name}: {commit}"] if own else []
            lines += [f"  {one.rule}: {one.says} ({one.source})" for one in own]
        return "\n".join(lines)


def runtime_rules(runtime: str | None = None) -> Rules:
    """Return the limits and rules of runtimes, with sources.

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
    return Rules(tuple(one for one in _iterate_rules() if runtime in {None, one.runtime}))


def _iterate_rules() -> Iterator[Rule]:
    table = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    limits = {name: _limits(PROFILES[name]) for name in ("msccl", "msccl-executor", "rccl")}
    limits["mscclpp"] = asdict(EXECUTOR)
    for rule, by_runtime in table.items():
        for name, (says, source) in by_runtime.items():
            yield Rule(rule, name, says.format_map(limits.get(name, {})), source.format_map(SOURCES))


def _limits(profile: RuntimeProfile) -> dict[str, object]:
    """Return a profile's limits by name, in words if not numbers."""
    return {
        **vars(profile),
        "may_lack": ", ".join(sorted(profile.optional)) or "none",
        "just_max_bytes": "not served" if profile.strict_sizes else "served; 0 is any size",
        "scratch_taken": "for maxBytes at the start" if profile.scratch_at_start else "by the first call",
        "joined": f"at the start, {'unless cuMem is on at every rank' if profile.joins_late else 'always'}",
        "reduce_scatter": next(word for word, one in profile.collectives.items() if one.name == "reduce-scatter"),
    }


Role = Literal[
    "told", "loading", "loaded", "refused", "ready", "call", "ran", "built-in", "trouble",
    "rings", "joined", "trees", "connection", "failed", "failure",
]  # fmt: skip
"""What a line says: an environment variable, that a file is read, that it was, that it was not, that the start is over,
that somebody calls a collective, that a program ran, that something else did, and that something is in the way; that
the ranks are joined in rings, which ones trees join, that they do, that two ranks cannot be connected, that the
start failed, without a reason, and that a run failed, with one."""


@dataclass(frozen=True, slots=True)
class Sign:
    """A line of a log, as ``signs.toml`` says it."""

    role: Role
    pattern: re.Pattern[str]
    means: str
    source: str
    runtime: str = ""
    remedy: str = ""


_WORD = re.compile(r"\{\{([\w-]+)\}\}")  # of the table of words, or of SOURCES


def _read(text: str) -> tuple[Sign, ...]:
    document = tomllib.loads(text)
    words = {**SOURCES, "lazy": LAZY, "relay": RELAY, **document["words"]}
    found = []
    for row in document["sign"]:
        said: dict[str, Any] = {key: _WORD.sub(lambda word: words[word[1]], text) for key, text in row.items()}
        found.append(Sign(**{**said, "pattern": re.compile(said["pattern"])}))
    return tuple(found)


SIGNS = _read(Path(__file__).with_name("signs.toml").read_text(encoding="utf-8"))  # all lines that mean something here

"""Commands and options of 0.29 by today's names; 0.32 removes this module.

An old command line is rewritten before it is read, and a line on standard error says the new one. What is retired
altogether is in :mod:`topodesign.base.retired`.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Sequence
from contextvars import ContextVar

import click

QUIET = "TOPODESIGN_RENAMED"
"""Variable of the environment that silences the line if it is ``quiet``."""

Change = str | tuple[str, ...] | Callable[[str], list[str]]
"""What an old option becomes: another option with the same value; words instead of a flag; or words for its value.

A name that ends in an equals sign is a setting: ``--set chunks=`` takes the value.
"""

_former: ContextVar[str | None] = ContextVar("former", default=None)


COMMANDS: dict[str, str] = {
    "catalog compare": "catalog diff",
    "catalog list": "catalog status",
    "catalog price": "catalog improve --prices-only",
    "design init": "design --init",
    "fabric": "convert --as fabric",
    "families": "info families",
    "links": "convert --as links",
    "plugins": "info plugins",
    "replan": "repair",
    "runtimes": "info runtimes",
    "schema": "info json",
    "step": "training",
    "warm": "kernels",
    "groups": "evaluate",
    "plot boxes": "evaluate --plot-kind boxes",
    "plot cut": "evaluate --plot-kind bottleneck",
    "plot distances": "evaluate --plot-kind distances",
    "plot frontier": "pareto --plot-kind frontier",
    "plot orbits": "evaluate --plot-kind orbits",
    "plot sizes": "pareto --plot-kind sizes",
    "plot structure": "evaluate --plot-kind structure",
    "plot timeline": "simulate --plot-kind timeline",
    "plot times": "pareto --plot-kind times",
    "plot use": "simulate --plot-kind utilization",
    "plot winners": "pareto --plot-kind construction",
    "uneven": "evaluate",
    "wire addresses": "wire show --addresses",
    "wire buy": "wire bill",
    "wire loss": "wire show --loss",
}
"""New words of each command that has another name."""

_PLACE: dict[str, Change] = {
    "--only": "--members",
    "--others": lambda value: ["--forward" if value == "forward" else "--no-forward"],
    "--without": "--fail",
}
_METHOD: dict[str, Change] = {"--method": "--algorithm"}
_SHAPE: dict[str, Change] = {
    "--by-ranks": ("--set", "by-ranks=yes"),
    "--chunks": "--set chunks=",
    "--fixed-k": "--set trees=",
    "--steps": "--set steps=",
}
_DUPLEX: dict[str, Change] = {"--bidirectional": "--duplex"}
_JOBS: dict[str, Change] = {"--processes": "--jobs"}


def _cabling(value: str) -> list[str]:
    """Return the flag of a cabling; both is none."""
    return [f"--{value}"] if value in {"duplex", "simplex"} else []


OPTIONS: dict[str, dict[str, Change]] = {
    "catalog show": _DUPLEX,
    "compile-set": _PLACE | {"--no-programs": ("--target", "none")},
    "catalog build": _JOBS,
    "catalog improve": _JOBS | {"--cabling": _cabling, "--only": "--strategy"},
    "catalog verify": _JOBS,
    "compile": _PLACE
    | _METHOD
    | _SHAPE
    | {
        "--box": "--set ranks-per-box=",
        "--channels": "--set channels=",
        "--dtype": "--set dtype=",
        "--max-size": "--set max-size=",
        "--min-size": "--set min-size=",
        "--parts": "--set pipeline=",
        "--threadblocks": "--set threadblocks=",
        "--unwind": "--set unwind=",
    },
    "fabric": _PLACE,
    "groups": _PLACE,
    "pareto": _DUPLEX
    | {
        "--against": "--add",
        "--box": "--boxes",
        "--grow-from": "--near",
        "--no-catalog": ("--catalog", "none"),
        "--plant": "--inventory",
        "--runners-up": "--top",
        "--search": lambda value: ["--time-limit", f"{value}s"],
    },
    **dict.fromkeys(("plot frontier", "plot sizes", "plot times", "plot winners"), _DUPLEX),
    "reconfigure": {"--cabling": _cabling, "--plant": "--inventory"},
    "report": _DUPLEX | {"--against": "--add", "--runners-up": "--top"},
    "run": _PLACE | _METHOD | _SHAPE | {"--unwind": "--set unwind="},
    "schedule": _PLACE
    | _METHOD
    | _SHAPE
    | {
        "--no-symmetric": ("--set", "symmetric=no"),
        "--overlap": ("--set", "overlap=yes"),
        "--ready": "--set ready=",
        "--symmetric": ("--set", "symmetric=yes"),
        "--tick": "--set tick=",
        "--tries": "--set seeds=",
        "--unwind": "--set unwind=",
    },
    "simulate": {"--failed-link": lambda value: ["--fail", value.replace(",", ">")], "--without": "--fail"},
    "verify": {"--interleavings": "--samples", "--wiring": "--network"},
    "warm": _JOBS,
    "wire plan": {"--mode": _cabling},
    "catalog list": {"--quality": "--compare-bound"},
    "catalog price": {"--seconds": lambda value: ["--time-limit", f"{value}s"]},
    "compare": {"--price": "--prices"},
    "evaluate": {
        "--all-sources": ("--set", "all-sources=yes"),
        "--all-to-all": "--effort",
        "--deferred": ("--set", "deferred=yes"),
        "--exact": ("--effort", "exact"),
        "--gap": "--tolerance",
        "--no-deferred": ("--set", "deferred=no"),
    },
    "methods": _METHOD | {"--without": "--fail"},
    "optimum": _PLACE
    | {
        "--cost": "--prices",
        "--fixed-k": "--set trees=",
        "--frontier": ("--set", "pareto=yes"),
        "--gap": "--tolerance",
        "--method": "--algorithm",
        "--mirrored": ("--set", "symmetry=yes"),
        "--no-proof": ("--set", "proof=no"),
        "--proof": ("--set", "proof=yes"),
        "--scan": "--set max-trees=",
        "--standard": ("--set", "symmetry=no"),
    },
    "uneven": {
        "--exact": ("--effort", "exact"),
        "--matrix": "--traffic",
        "--output": "--set table=",
        "--piece": "--set piece=",
        "--seed": "--set seed=",
        "--tokens": "--set tokens=",
        "-o": "--set table=",
    },
    "families": {"--picture": "--output"},
    "replan": {"--without": "--fail"},
    "step": {"--layouts": "--placements"},
    "wire impact": {"--host": "--fail", "--port": "--fail", "--cable": "--fail"},
}
"""New names of the options of each command, by its words in 0.29."""


def rewrite(args: Sequence[str]) -> list[str]:
    """Return a command line with today's names.

    One without old names is returned as it is.

    Examples
    --------
    >>> rewrite(["wire", "buy", "plan.json"])
    ['wire', 'bill', 'plan.json']
    """
    helped = list(args[:1]) == ["help"]
    given = list(args[1:] if helped else args)
    names = (" ".join(given[:count]) for count in (2, 1) if len(given) >= count)
    name = next((words for words in names if words in COMMANDS or words in OPTIONS or words in _DIVIDED), None)
    if name is None:
        return list(args)
    own = given[len(name.split()) :]
    rest = _options(own, OPTIONS.get(name, {}))
    words = _DIVIDED[name](own, rest) if name in _DIVIDED else None
    if words is None:
        words = [*COMMANDS.get(name, name).split(), *rest]
    return [*(["help"] if helped else []), *words] if words != given else list(args)


def _methods(own: list[str], rest: list[str]) -> list[str] | None:
    """Return what lists algorithms, if no network is named."""
    options = {word.partition("=")[0] for word in own if word.startswith("-")}
    listed = options <= {"--json", "--csv", "-o", "--output"} and not _arguments(own)
    if listed:
        return ["info", "algorithms", *rest]
    some = [] if any(word.partition("=")[0] == "--algorithm" for word in rest) else ["--algorithm", "all"]
    return ["compare", *rest, *some]


def _report(own: list[str], rest: list[str]) -> list[str] | None:
    """Return the words that write a report."""
    if any(
        re.fullmatch("-[nd].*|--(nodes|degree|against|runners-up|bidirectional|catalog)(=.*)?", word) for word in own
    ):
        command = "pareto"
    else:
        command = "simulate" if any(word.endswith(".npz") for word in own) else "evaluate"
    return [command, "--plot-kind", "page", *rest]


def _optimum(own: list[str], rest: list[str]) -> list[str] | None:
    """Return the arguments of ``optimum`` without a throughput."""
    named = {word.partition("=")[0] for word in own}
    if named & {"--failures", "--plans"}:
        rest = _options([word for word in own if word != "--failures"], _PLACE | {"--plans": "--output"})
        return ["failures", *_with_default(rest, "allgather")]
    if named & {"--upgrade", "--target", "--budget"}:
        return ["upgrade", *_with_default(_options(own, _PLACE | {"--upgrade": "--prices"}), "allgather")]
    return ["evaluate", *_with_default(rest, "allgather")]


def _with_default(rest: list[str], collective: str) -> list[str]:
    """Return arguments with the collective, whose default was another one."""
    if any(word.partition("=")[0] == "--collective" for word in rest):
        return rest
    return [*rest, "--collective", collective]


def _impact(own: list[str], rest: list[str]) -> list[str] | None:
    """Return the words for a given failure, or for all."""
    del own
    return ["repair" if any(word.partition("=")[0] == "--fail" for word in rest) else "failures", *rest]


def _compile_set(own: list[str], rest: list[str]) -> list[str]:
    """Return the arguments of a library, of named or all collectives."""
    del own
    words, names, left = list[str](), list[str](), list(rest)
    while left:
        word = left.pop(0)
        option, _, value = word.partition("=")
        if option == "--collective":
            names.append(value or (left.pop(0) if left else ""))
        else:
            words.append(word)
    return ["compile", *words, "--for", ",".join(names) or "all"]


_FLAGS = frozenset({"--json", "--csv", "--help", "-h"})


def _arguments(words: list[str]) -> list[int]:
    """Return the positions of arguments."""
    places = []
    for place, word in enumerate(words):
        before = words[place - 1] if place else ""
        if not word.startswith("-") and (not before.startswith("-") or before in _FLAGS or "=" in before):
            places.append(place)
    return places


_DIVIDED: dict[str, Callable[[list[str], list[str]], list[str] | None]] = {
    "compile-set": _compile_set,
    "methods": _methods,
    "optimum": _optimum,
    "report": _report,
    "wire impact": _impact,
}
"""Commands that are several ones now: what finds the new words, from the old ones and from these with new options."""


def _options(given: list[str], changes: dict[str, Change]) -> list[str]:
    """Return words with the options of today."""
    words: list[str] = []
    place = 0
    while place < len(given):
        word = given[place]
        place += 1
        if word == "--":
            return [*words, word, *given[place:]]
        option, sign, value = word.partition("=")
        change = changes.get(option)
        if change is None:
            words.append(word)
        elif isinstance(change, tuple):
            words += change
        elif isinstance(change, str) and not change.endswith("="):
            words.append(change + sign + value)
        elif not sign and place == len(given):
            words.append(word)
        else:
            if not sign:
                value = given[place]
                place += 1
            words += change(value) if callable(change) else [*change.split()[:1], change.split()[1] + value]
    return words


def modernise(given: Sequence[str]) -> list[str]:
    """Return a command line with today's names.

    Old names are printed on standard error.
    """
    words = rewrite(given)
    old = next((" ".join(given[:count]) for count in (2, 1) if " ".join(given[:count]) in _schemas()), None)
    _former.set(None if words == list(given) else old)
    if words != list(given) and os.environ.get(QUIET) != "quiet":
        click.echo(f"renamed: use topodesign {shlex.join(words)}", err=True)
    return words


def _schemas() -> frozenset[str]:
    """Return the old commands whose documents keep the name of their schema."""
    return frozenset({*COMMANDS, *_DIVIDED})


def former() -> str | None:
    """Return the old command line that was called, or None."""
    return _former.get()

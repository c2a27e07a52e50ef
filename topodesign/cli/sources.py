"""Files of commands: schedules and programs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click
from click.core import ParameterSource

from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.base.file_kinds import FileKind, kind_of
from topodesign.base.options import format_option

if TYPE_CHECKING:
    from topodesign.topology.topology import Topology

Kind = Literal["schedule", "program"]
_ENDING: dict[Kind, str] = {"schedule": ".npz", "program": ".xml"}


def tell_of_names(topology: Topology) -> None:
    """Warn once that names of a file's nodes are not passed on."""
    names = topology.node_names
    if names is None:
        return
    first = f"{names[0]} is node 0, {names[-1]} node {len(names) - 1}"
    click.echo(
        f"topodesign: nodes have numbers from here on, in the order of the file ({first}); a fabric file keeps names",
        err=True,
    )


def read_wired_place(text: str) -> str | Topology:
    """Return the links of a wiring plan; anything else as it is."""
    if kind_of(Path(text)) is not FileKind.WIRING:
        return text
    import topodesign  # noqa: PLC0415  not for help

    return topodesign.load_wiring(text).topology


def check_new(folder: Path) -> None:
    """Raise FileFormatError if an output directory exists and is not empty."""
    if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
        raise FileFormatError(f"{folder} already exists; use a new directory")


def names_schedule(text: str) -> bool:
    """Return whether a text names a schedule file.

    By its ending or by how the file begins.
    """
    path = Path(text)
    return path.suffix.lower() == _ENDING["schedule"] or kind_of(path) is FileKind.PLAN


def check_ending(output: Path, kind: Kind) -> None:
    """Raise ParameterError if an output file has the ending of another kind.

    A program may have any ending that is none of ours, for runtimes take it under any name.
    """
    ending = output.suffix.lower()
    others = {known for other, known in _ENDING.items() if other != kind}
    if ending in others or (kind == "schedule" and ending not in {"", _ENDING[kind]} and not output.exists()):
        raise ParameterError(f"cannot write a {kind} as {output}; use the ending {_ENDING[kind]}")


def get_given_options(context: click.Context) -> set[str]:
    """Return the names of the options that the command line has."""
    return {name for name in context.params if context.get_parameter_source(name) is ParameterSource.COMMANDLINE}


def refuse_choices(context: click.Context, source: str, names: Iterable[str]) -> None:
    """Raise ParameterError for options that a schedule has decided."""
    given = get_given_options(context)
    decided = [name for name in names if name in given]
    if decided:
        words = ", ".join(map(format_option, decided))
        pronoun = "it" if len(decided) == 1 else "them"
        raise ParameterError(f"{source} is a schedule already, which decides {words}; remove {pronoun}")

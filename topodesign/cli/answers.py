"""Where an answer goes and in which form: ``--csv`` and ``-o`` for every command with ``--json``, added in one place.

Commands print text, or with ``--json`` one document through :func:`topodesign.cli.options.print_json`. When a group
hands a command out (:class:`topodesign.cli.lazy.LazyGroup`), :func:`complete` adds what it lacks: ``--csv``, for which
the same document is printed as a table, and ``-o FILE``, which takes what would be printed. Commands that write
something else with ``-o``, such as a plan, keep theirs.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from topodesign.base.atomic import write_whole
from topodesign.base.fitted import wrapped

CSV = "topodesign.csv"
"""Key in the ``meta`` of a context: whether documents are printed as comma-separated values."""

_FORMS = {".json": "as_json", ".csv": "as_csv"}
"""What the ending of a file asks for where nothing else is said."""
_TEXT = frozenset(("", ".txt", ".md", ".log", ".out"))
"""Endings of files of text."""


class FittedHelp(click.HelpFormatter):
    """Help texts in which long lists of words that an option takes are broken, too."""

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Write options or commands and what they are."""
        room, indent = self.width - self.current_indent, f"\n{'':{self.current_indent}}"
        super().write_dl([(indent.join(wrapped(one, room, 4)), about) for one, about in rows], col_max, col_spacing)


class _Context(click.Context):
    formatter_class = FittedHelp


def complete(command: click.Command) -> click.Command:
    """Add ``--csv`` and ``-o`` to a command, or to those of a group, where they have ``--json`` and not these."""
    command.context_class = _Context
    if isinstance(command, click.Group):
        if "commands" in vars(command):  # a group that imports later completes its commands then
            for one in command.commands.values():
                complete(one)
        return command
    names = {name for one in command.params for name in one.opts}
    if "--json" not in names or getattr(command, "is_complete", False):
        return command
    place = next(number for number, one in enumerate(command.params) if "--json" in one.opts)
    added: list[click.Parameter] = []
    if "--csv" not in names:
        said = "Print comma-separated values with a header line."
        added.append(click.Option(["--csv", "as_csv"], is_flag=True, help=said))
    own_csv, own_file = "--csv" in names, "-o" in names
    if not own_file:
        file = click.Path(dir_okay=False, path_type=Path)
        said = "Write the answer to a file instead; .json and .csv say the form, too."
        added.append(click.Option(["-o", "--output", "answer_file"], type=file, metavar="FILE", help=said))
    command.params[place:place] = added
    call = command.callback

    def answer(*args: Any, **options: Any) -> Any:
        target: Path | None = options.pop("answer_file", None)
        _settle_form(options, target)
        context = click.get_current_context()
        if not own_csv and options.pop("as_csv"):
            context.meta[CSV] = options["as_json"] = True
        if target is None:
            return call(*args, **options) if call is not None else None
        with contextlib.redirect_stdout(io.StringIO()) as said:
            status = call(*args, **options) if call is not None else None
        write_whole(target, said.getvalue())
        click.echo(f"wrote {target}", err=True)
        return status

    command.callback = answer
    command.is_complete = True  # type: ignore[attr-defined]
    return command


def _settle_form(options: dict[str, Any], target: Path | None) -> None:
    """Take the form from the ending of the file, where none is asked for.

    Raises
    ------
    UsageError
        If two are asked for, or the ending is that of another form.
    """
    asked = [f"--{name.removeprefix('as_')}" for name in _FORMS.values() if options.get(name)]
    if len(asked) > 1:
        raise click.UsageError("--csv and --json exclude each other.")
    if target is None:
        return
    ending = target.suffix.lower()
    wanted = _FORMS.get(ending)
    if wanted is None and ending not in _TEXT:
        raise click.UsageError(f"An answer is text, .json or .csv; {target} would be something else.")
    if wanted is not None and asked and not options[wanted]:
        raise click.UsageError(f"{asked[0]} does not belong into {target}; leave it out, or give another ending.")
    if wanted is not None:
        options[wanted] = True


def flat(document: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return a document as one row: names of what is in objects with dots, lists of plain values with blanks between.

    Lists of objects and texts of several lines have no place in a row and are left out.

    Examples
    --------
    >>> flat({"nodes": 12, "bound": {"steps": 2}, "profile": [1, 4, 7], "runs": [{"time": 1}]})
    {'nodes': 12, 'bound.steps': 2, 'profile': '1 4 7'}
    """
    row: dict[str, Any] = {}
    for name, value in document.items():
        if isinstance(value, dict):
            row |= flat(value, f"{prefix}{name}.")
        elif isinstance(value, list | tuple):
            if not any(isinstance(one, dict | list | tuple) for one in value):
                row[prefix + name] = " ".join(map(str, value))
        elif not (isinstance(value, str) and "\n" in value):
            row[prefix + name] = "" if value is None else value
    return row

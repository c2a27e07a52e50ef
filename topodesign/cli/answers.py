"""Answers of commands: form, destination and sections of help.

Every command is a :class:`Command`. With ``--json`` one document is printed, with ``--csv`` the same as a table, and
``-o FILE`` takes what would be printed; where a command has ``--json`` the other two are added. Commands that write
something else with ``-o``, such as a plan, keep theirs. :func:`form` says which form is asked for, :func:`show` and
:func:`tell` print a result in it.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

import topodesign
from topodesign.base import retired
from topodesign.base.atomic import names_directory, write_whole
from topodesign.base.errors import TopodesignError
from topodesign.base.fitted import columns_of, fit_lines, wrap_text
from topodesign.base.wording import suggest

_Callable = TypeVar("_Callable", bound=Callable[..., Any])

_Rows = Callable[[], Iterable[Mapping[str, Any]]]
_FORMS = "topodesign.forms"  # key in the ``meta`` of a context: the forms that are asked for
FILE = "topodesign.file"  # the same for the file that takes the answer
_RULES = "topodesign.read"  # the same for what attributes of networks mean
_DIRECTORY = "topodesign.directory"  # and for the directory of commands that take one
_ENDINGS = {".json": "json", ".csv": "csv"}  # the default form of a file by its ending
_TEXT = frozenset(("", ".txt", ".md", ".log", ".out"))  # endings of files of text
_FLAT = 13  # options that a help text lists without sections
_ALL = "topodesign.all"  # key in the ``meta`` of a context: whether help shows everything
_MAX_NAME = 24  # columns that names of options take at most beside their descriptions
OUTPUT = "Output"  # the last section of help texts


class FittedHelp(click.HelpFormatter):
    """Help formatter that also wraps long lists of choices."""

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = _MAX_NAME, col_spacing: int = 2) -> None:
        """Write options or commands and what they are."""
        room, indent = self.width - self.current_indent, f"\n{'':{self.current_indent}}"
        fitting = [(one if len(one) <= room else indent.join(wrap_text(one, room, 4)), about) for one, about in rows]
        super().write_dl(fitting, col_max, col_spacing)


class Context(click.Context):
    """A context whose help texts are fitted."""

    formatter_class = FittedHelp


def _set_asked(context: click.Context, option: click.Parameter, value: bool) -> None:
    if value:
        context.meta.setdefault(_FORMS, []).append(option.name)


def _form_option(name: str, about: str) -> Callable[[_Callable], _Callable]:
    return click.option(f"--{name}", is_flag=True, expose_value=False, callback=_set_asked, help=about)


json_option = _form_option("json", "Print one JSON document on standard output.")
csv_option = _form_option("csv", "Print comma-separated values with a header line.")
_file_option = click.option(
    "-o",
    "--output",
    "answer_file",
    type=click.Path(path_type=Path),
    expose_value=False,
    metavar="FILE",
    callback=lambda context, _, value: context.meta.setdefault(FILE, value),
    help="Write the answer to a file instead; .json and .csv say the form, too.",
)


_read_option = click.option(
    "--read",
    "read_rules",
    multiple=True,
    expose_value=False,
    metavar="KEY=VALUE",
    callback=lambda context, _, value: context.meta.setdefault(_RULES, value),
    help="What attributes of a network's file mean: capacity=bw:Gbps, latency=delay:us, role=type, switch='s*', "
    "ignore=NAME, links=duplex. Repeatable.",
)


SETTING = "--set."
"""How the options begin that are settings: of one algorithm, target, format or reader."""


def _set_option(known: Iterable[str]) -> click.Option:
    """Return the option that gives settings."""
    return click.Option(
        ["--set"],
        multiple=True,
        expose_value=False,
        metavar="NAME=VALUE",
        help=f"Settings: {', '.join(known)}. --help-all describes them. Repeatable.",
    )


def _show_all(context: click.Context, _option: click.Parameter, value: bool) -> None:
    """Print the whole help text."""
    if value and not context.resilient_parsing:
        context.meta[_ALL] = True
        click.echo(context.get_help(), color=context.color)
        context.exit()


def _value_of(option: click.Option, context: click.Context) -> str:
    """Return what stands for the value of a setting."""
    return "yes|no" if option.type is click.BOOL else option.make_metavar(context).strip("[]")


class Command(click.Command):
    """A command with ``--csv``, ``-o`` and ``--json``, and option sections."""

    context_class = Context

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        names = {name for one in self.params for name in one.opts}
        if self.settings():
            place = next((number for number, one in enumerate(self.params) if "--json" in one.opts), len(self.params))
            self.params[place:place] = [_set_option(self.settings())]
        if any(getattr(one.type, "reads_networks", False) for one in self.params):
            last = next((number for number, one in enumerate(self.params) if "--json" in one.opts), len(self.params))
            self.params.insert(last, *_read_option(lambda: None).__click_params__)  # type: ignore[attr-defined]
        if "--json" not in names:
            return
        place = next(number for number, one in enumerate(self.params) if "--json" in one.opts)
        for name, option in (("-o", _file_option), ("--csv", csv_option)):
            if name not in names:
                self.params.insert(place, *option(lambda: None).__click_params__)  # type: ignore[attr-defined]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments, and refuse retired options with their successors."""
        try:
            return super().parse_args(ctx, self._with_settings(ctx, args))
        except click.NoSuchOption as error:
            successor = retired.OPTIONS.get(" ".join(ctx.command_path.split()[1:]), {}).get(error.option_name)
            if successor is None:
                raise
            raise TopodesignError(retired.describe_retired(error.option_name, successor)) from error

    def settings(self) -> dict[str, click.Option]:
        """Return the settings that ``--set NAME=VALUE`` can give, by name."""
        return {
            one.opts[0].removeprefix(SETTING): one
            for one in self.params
            if isinstance(one, click.Option) and one.opts[0].startswith(SETTING)
        }

    def _with_settings(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Return arguments with ``--set NAME=VALUE`` replaced by its option."""
        known = self.settings()
        if not known:
            return args
        words: list[str] = []
        place = 0
        while place < len(args):
            word = args[place]
            place += 1
            if word == "--":
                return [*words, word, *args[place:]]
            option, sign, said = word.partition("=")
            if option != "--set" or (not sign and place == len(args)):
                words.append(word)
                continue
            if not sign:
                said = args[place]
                place += 1
            name, sign, value = said.partition("=")
            if not sign:
                raise TopodesignError(f"--set: invalid setting '{said[:50]}'; expected NAME=VALUE")
            if name not in known and f"--{name}" in retired.OPTIONS.get(" ".join(ctx.command_path.split()[1:]), {}):
                raise click.NoSuchOption(f"--{name}")
            if name not in known:
                raise TopodesignError(f"--set: unknown setting '{name[:50]}'; {suggest(name, known)}")
            words += [SETTING + name, value]
        return words

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, and write its output to a file if ``-o`` asks."""
        if _RULES not in ctx.meta:
            return self._answer(ctx)
        from topodesign.fabrics.networks import reading  # noqa: PLC0415  not for help

        told: set[str] = set()

        def tell(line: str) -> None:
            if line not in told:
                told.add(line)
                click.echo(f"topodesign: {line}", err=True)

        with reading(ctx.meta[_RULES], tell):
            return self._answer(ctx)

    def _answer(self, ctx: click.Context) -> Any:
        target: Path | None = ctx.meta.get(FILE)
        if target is not None and names_directory(target) and self.takes_directory(ctx):
            if target.exists() and (not target.is_dir() or any(target.iterdir())):
                raise click.UsageError(f"{target} already exists; use a new directory.")
            target, ctx.meta[_DIRECTORY] = None, ctx.meta.pop(FILE)
        _settle_form(ctx, target)
        if target is None:
            return super().invoke(ctx)
        with contextlib.redirect_stdout(io.StringIO()) as said:
            status = super().invoke(ctx)
        write_whole(target, said.getvalue())
        click.echo(f"wrote {target}", err=True)
        return status

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters, with ``--help-all`` where there are settings."""
        found = super().get_params(ctx)
        if self.settings() and not any("--help-all" in one.opts for one in found):
            found.append(
                click.Option(
                    ["--help-all"],
                    is_flag=True,
                    is_eager=True,
                    expose_value=False,
                    callback=_show_all,
                    help="Show this message with all settings and exit.",
                )
            )
        return found

    def takes_directory(self, _context: click.Context) -> bool:
        """Return whether ``-o`` may name a directory of further output.

        The answer itself is printed then.
        """
        return False

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options: own, shared, then those of the output."""
        found: dict[str, list[tuple[str, str]]] = {"Options": []}
        last = {"-o", "--format", "--csv", "--json", *ctx.help_option_names}
        options = [one for one in self.get_params(ctx) if isinstance(one, click.Option)]
        shown = [(one, record) for one in options if (record := one.get_help_record(ctx)) is not None]
        for one, record in shown:
            section = OUTPUT if last.intersection(one.opts) else getattr(one, "section", "Options")
            found.setdefault(section if len(shown) > _FLAT else "Options", []).append(record)
        width = min(_MAX_NAME, max((len(name) for name, _ in found["Options"]), default=0))
        if ctx.meta.get(_ALL):
            for name, one in self.settings().items():
                about = one.help or ""
                found.setdefault("Settings (--set NAME=VALUE)", []).append((f"{name}={_value_of(one, ctx)}", about))
        ending = found.pop(OUTPUT, None)
        for title, records in [*found.items(), *([] if ending is None else [(OUTPUT, ending)])]:
            if records:
                with formatter.section(title):
                    formatter.write_dl([(name.ljust(width), about) for name, about in records])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Name the Python function of the command."""
        super().format_epilog(ctx, formatter)
        words = ctx.command_path.removeprefix(f"{ctx.find_root().info_name} ")
        if function_of(words) in topodesign.__all__:
            formatter.write_paragraph()
            formatter.write_text(f"In Python: topodesign.{function_of(words)}()")


def function_of(command: str) -> str:
    """Return the name of the Python function of a command.

    Examples
    --------
    >>> function_of("wire plan"), function_of("catalog diff"), function_of("pareto")
    ('plan_wiring', 'diff_catalog', 'pareto')
    """
    group, _, name = command.partition(" ")
    return f"{name}_{'wiring' if group == 'wire' else group}" if name else command


def refuse_retired(ctx: click.Context, args: Sequence[str]) -> None:
    """Refuse a retired command of a group with its successor.

    Raises
    ------
    TopodesignError
        If the first argument is the name of one.
    """
    path = ctx.command_path.split()[1:]
    words = next((one for count in (2, 1) if (one := " ".join([*path, *args[:count]])) in retired.COMMANDS), None)
    if words is not None:
        raise TopodesignError(retired.describe_retired(f"'{words}'", retired.COMMANDS[words]))


class Group(click.Group):
    """A group of such commands."""

    command_class = Command
    context_class = Context

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Refuse retired commands with their successors."""
        refuse_retired(ctx, args)
        return super().resolve_command(ctx, args)


def _settle_form(context: click.Context, target: Path | None) -> None:
    """Select the form by the ending of the file if none is given."""
    asked = context.meta.setdefault(_FORMS, [])
    if len(asked) > 1:
        raise click.UsageError("--csv and --json cannot be used together.")
    if target is None:
        return
    if target.is_dir():
        raise click.UsageError(f"{target} is a directory; use the name of a file.")
    ending = target.suffix.lower()
    wanted = _ENDINGS.get(ending)
    if wanted is None and ending not in _TEXT:
        raise click.UsageError(f"cannot write an answer as {target}; use the ending .txt, .json or .csv.")
    if wanted is not None and asked and asked != [wanted]:
        raise click.UsageError(f"--{asked[0]} cannot be combined with {target}; remove it, or use another ending.")
    if wanted is not None:
        context.meta[_FORMS] = [wanted]


def directory() -> Path | None:
    """Return the directory that ``-o`` names, of commands that take one."""
    found: Path | None = click.get_current_context().meta.get(_DIRECTORY)
    return found


def form() -> str:
    """Return the form of the answer: ``text``, ``json`` or ``csv``."""
    asked: list[str] = click.get_current_context().meta.get(_FORMS, [])
    return asked[0] if asked else "text"


def show(result: Any, document: dict[str, Any] | None = None) -> None:
    """Print a result as text, rows or a document."""
    if form() == "text":
        from topodesign.report.table import print_result  # noqa: PLC0415  heavy, and not for --json

        print_result(result)
    elif form() == "csv":
        print_csv([flat(dict(row)) for row in result.to_records()])
    else:
        print_json(result.record() if document is None else document)


def tell(result: Any, text: str | None = None) -> None:
    """Print a result whose text is more than a table."""
    if form() == "text":
        say(str(result) if text is None else text)
    else:
        show(result)


def print_json(document: dict[str, Any], rows: _Rows | None = None) -> None:
    """Print one JSON document, with the name of its schema first.

    With ``--csv`` print its rows.

    * ``document``: all that there is to say.
    * ``rows``: makes the rows of a table; without it the document is one, as :func:`flat` says.
    """
    if form() == "csv":
        print_csv([flat(dict(row)) for row in rows()] if rows is not None else [flat(document)])
        return
    import json  # noqa: PLC0415  not for help

    from topodesign.report.schemas.documents import SHAPES, identifier  # noqa: PLC0415

    context = click.get_current_context()
    command = context.command_path.removeprefix(f"{context.find_root().info_name} ")
    named = {"schema": identifier(command)} if command in SHAPES else {}  # a test finds those without
    click.echo(json.dumps(named | document, indent=2))


def print_answer(text: str, document: dict[str, Any], rows: _Rows | None = None) -> None:
    """Print a text, or what :func:`print_json` does in its place."""
    if form() == "text":
        say(text)
    else:
        print_json(document, rows)


def say(text: str) -> None:
    """Print text wrapped to the terminal or COLUMNS.

    Elsewhere print it as it is, for programs that read lines.
    """
    width = columns_of(sys.stdout)
    click.echo(text if width is None else fit_lines(text, width))


def print_csv(records: Sequence[Mapping[str, Any]]) -> None:
    """Print records as CSV with a header of all keys."""
    from topodesign.base.tables import write_csv  # noqa: PLC0415  not for help

    names = list(dict.fromkeys(name for record in records for name in record))
    rows = [[record.get(name, "") for name in names] for record in records]
    click.echo(write_csv([names, *rows]), nl=False)


def flat(document: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return a document as one row.

    Names in objects are joined by dots, lists of plain values by blanks.

    Lists of objects and texts of several lines have no place in a row and are omitted.

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

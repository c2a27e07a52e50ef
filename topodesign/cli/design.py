"""``topodesign design`` and ``topodesign design --init``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

import topodesign
from topodesign.base.atomic import write_whole
from topodesign.base.errors import FileFormatError
from topodesign.cli.answers import FILE, Command, directory, json_option, tell
from topodesign.cli.options import PATH, flag, offer, option, parse_named_values
from topodesign.cli.progress import progress_bar
from topodesign.report.design.fields import RequestOptions

_PAGE = "topodesign.page"  # the same for a page
_amounts = parse_named_values("cable=40")
_QUESTIONS: dict[str, tuple[str, Any, Any]] = {
    "nodes": ("How many hosts or accelerators", click.IntRange(2), 12),
    "degree": ("Ports of each", click.IntRange(1), 4),
    "bandwidth": ("Bandwidth of each over all its ports", str, "100Gbps"),
    "alpha": ("Latency of a step", str, "10us"),
    "workload": ("What a training step sends, a file", str, "workload_moe.yaml"),
    "cabling": ("Cabling", click.Choice(("simplex", "duplex")), "simplex"),
}
"""What ``init`` asks on a terminal, what can be answered, and the defaults."""
_INSTEAD = {
    "nodes": ("room", "boxes"),
    "degree": ("room", "boxes"),
    "bandwidth": ("boxes",),
    "alpha": ("boxes",),
    "workload": ("model",),
}
"""What is not asked where another answer is there."""


class _Command(Command):
    """A command with a directory for -o, and ``--init`` for a request."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Leave the rest to ``init`` with ``--init``."""
        if "--init" in args:
            rest = [word for word in args if word != "--init"]
            return init.make_context(f"{info_name} --init", rest, parent, **extra)
        return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run it."""
        target: Path | None = ctx.meta.get(FILE)
        if target is not None and target.suffix.lower() in {".html", ".htm"}:
            ctx.meta[_PAGE] = ctx.meta.pop(FILE)
        return super().invoke(ctx)

    def takes_directory(self, _context: click.Context) -> bool:
        """Return True: everything has its files there."""
        return True


@click.command(name="design", cls=_Command)
@click.argument("request", type=PATH)
@option(
    "--time-limit TIME",
    "Time of work, such as 20s. The answer lists what it was too short for: contenders, plans, failures, growth.  "
    "[default: none]",
)
@flag("--init", "Write a first request instead: see 'topodesign design --init --help'.", expose_value=False)
@json_option
def command(request: Path, time_limit: str | None) -> None:
    """Turn requirements into a recommendation with files.

    REQUEST is a file with the machines, their ports, what a training step sends, rivals, prices, the room and what is
    wanted (see docs/design.md); 'topodesign design --init' writes one, and 'topodesign examples' lists some.

    With -o FILE.html the decision is written as a page that opens offline, and prints its summary on one sheet.
    With -o DIR everything that goes to the bench and to the racks is written: schedules, programs, wiring plan, work
    package, bill, and the answer, as a page too.

    Example: topodesign design request_testbed.yaml
    """
    target = directory()
    page: Path | None = click.get_current_context().meta.get(_PAGE)
    if page is not None and not page.parent.is_dir():
        raise click.UsageError(f"{page.parent} is not a directory; create it first.")
    with progress_bar("designing") as progress:
        found = topodesign.design(request, time_limit=time_limit, progress=progress)
    if target is not None:
        found = found.save(target)
        topodesign.report_page(found).save(target / "decision.html")
    if page is not None:
        topodesign.report_page(found).save(page)
        click.echo(f"wrote {page}", err=True)
    tell(found)
    if target is not None:
        click.echo(f"wrote {target}", err=True)


@click.command(name="init", cls=Command)
@offer(RequestOptions, section="Options")
@option("-o --output FILE", "New file to write (.yaml).")
def init(output: Path | None, **answers: Any) -> None:
    """Write a request to begin with: a YAML file with comments, to be corrected by hand.

    What is needed and not said is asked on a terminal. The request is read before it is written.

    Example: topodesign design --init --nodes 12 --degree 4 --bandwidth 100Gbps --workload workload_moe.yaml -o my.yaml
    """
    given = {name for name in answers if _is_given(name)}
    said = {name: value for name, value in answers.items() if name in given}
    for name in ("prices", "watts"):
        if name in said:
            said[name] = _amounts(click.get_current_context(), _find_parameter(name), said[name])
    if output is not None and output.suffix.lower() not in {".yaml", ".yml"}:
        raise click.UsageError(f"cannot write a request as {output}; use the ending .yaml.")
    if output is not None and output.exists():
        raise FileFormatError(f"{output}: there is such a file; choose another name, or remove it")
    text = topodesign.request_text(**_ask_answers(said))
    if output is None:
        click.echo(text, nl=False)
        return
    write_whole(output, text)
    click.echo(f"wrote {output}", err=True)


def _is_given(name: str) -> bool:
    source = click.get_current_context().get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _find_parameter(name: str) -> click.Parameter:
    return next(one for one in init.params if one.name == name)


def _ask_answers(said: dict[str, Any]) -> dict[str, Any]:
    """Return the answers; ask for missing ones on a terminal."""
    if not sys.stdin.isatty():
        return said
    answers = dict(said)
    for name, (question, kind, default) in _QUESTIONS.items():
        if name not in said and not any(other in said for other in _INSTEAD.get(name, ())):
            answers[name] = click.prompt(question, default, type=kind, err=True)
    return answers

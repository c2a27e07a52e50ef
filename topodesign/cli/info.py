"""``topodesign info``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

import topodesign
from topodesign.base.wording import suggest
from topodesign.cli.answers import Command, csv_option, form, json_option, print_answer, print_json, say, show, tell
from topodesign.cli.options import SPEC
from topodesign.report.schemas.documents import SHAPES, identifier

SUBJECTS = {
    "families": "Families of topologies, expansions and standard names.",
    "fabrics": "Fabrics that are included.",
    "algorithms": "Scheduling algorithms and their settings.",
    "runtimes": "Limits and rules of runtimes, with their sources.",
    "plugins": "Extensions from other packages.",
    "json": "Output of each command with --json.",
}
_PICTURES = frozenset((".svg", ".png", ".pdf"))


class _Command(Command):
    """A command whose -o may name a plot of an example."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run it."""
        target = ctx.meta.get("topodesign.file")
        if target is not None and target.suffix.lower() in _PICTURES:
            ctx.meta["topodesign.picture"] = ctx.meta.pop("topodesign.file")
        return super().invoke(ctx)


@click.command(name="info", cls=_Command)
@click.argument("subject", required=False)
@click.argument("names", metavar="[NAME]...", type=SPEC, nargs=-1)
@csv_option
@json_option
def command(subject: str | None, names: tuple[str, ...]) -> None:
    """List families, fabrics, algorithms, runtimes, plugins or JSON output.

    SUBJECT is one of families, fabrics, algorithms, runtimes, plugins and json. With NAME prints one entry with its
    source and an example; -o FILE.svg draws the example of a family.

    Examples: topodesign info families kautz, topodesign info json wire plan
    """
    if subject is None:
        width = max(map(len, SUBJECTS))
        records = [{"subject": name, "about": about} for name, about in SUBJECTS.items()]
        lines = [f"{name:<{width}}  {about}" for name, about in SUBJECTS.items()]
        print_answer("\n".join(lines), {"subjects": records}, lambda: records)
        return
    known: dict[str, Callable[[tuple[str, ...]], None]] = {
        "families": _families,
        "fabrics": _fabrics,
        "algorithms": _algorithms,
        "runtimes": _runtimes,
        "plugins": _plugins,
        "json": _json,
    }
    if subject not in known:
        raise click.UsageError(f"unknown subject '{subject[:50]}'; {suggest(subject, SUBJECTS)}")
    picture: Path | None = click.get_current_context().meta.get("topodesign.picture")
    if picture is not None and (subject not in {"families", "fabrics"} or len(names) != 1):
        raise click.UsageError(f"-o {picture} requires one NAME of families or fabrics.")
    known[subject](names)


def _pick_name(names: tuple[str, ...], subject: str) -> str | None:
    """Return the one name that is given, None if there is none."""
    if len(names) > 1:
        raise click.UsageError(f"'info {subject}' accepts one NAME, not {len(names)}.")
    return names[0] if names else None


def _families(names: tuple[str, ...]) -> None:
    name = _pick_name(names, "families")
    picture: Path | None = click.get_current_context().meta.get("topodesign.picture")
    if picture is not None:
        from topodesign.report.figures import check_picture  # noqa: PLC0415  heavy

        check_picture(picture)
    found = topodesign.families(name)
    if picture is not None:
        topodesign.plot(found[0].example, "structure").save(picture)
        click.echo(f"wrote {picture}", err=True)
    for one in found if name is not None and form() == "text" else [found]:
        show(one)


def _fabrics(names: tuple[str, ...]) -> None:
    if names:
        _families(names)
        return
    everything = topodesign.families()
    show(type(everything)(one for one in everything if one.kind == "fabric"))


def _algorithms(names: tuple[str, ...]) -> None:
    everything = topodesign.methods()
    name = _pick_name(names, "algorithms")
    if name is None:
        show(everything)
        return
    found = [one for one in everything if one.method == name]
    if not found:
        raise click.UsageError(f"unknown algorithm '{name[:50]}'; {suggest(name, [one.method for one in everything])}")
    if form() != "text":
        show(type(everything)(found))
        return
    from topodesign.base.options import format_option  # noqa: PLC0415
    from topodesign.schedulers.options import OPTIONS  # noqa: PLC0415
    from topodesign.schedulers.scheduling import METHODS  # noqa: PLC0415

    say(f"{name}: {found[0].about}")
    understood = METHODS[name].options if name in METHODS else frozenset()
    for keyword, option in OPTIONS.items():
        if keyword in understood:
            say(f"  {(option.flags or (format_option(keyword),))[0]}: {option.about}")


def _runtimes(names: tuple[str, ...]) -> None:
    tell(topodesign.runtime_rules(_pick_name(names, "runtimes")))


def _plugins(names: tuple[str, ...]) -> None:
    if names:
        raise click.UsageError("'info plugins' accepts no NAME.")
    show(topodesign.plugins())


def _json(names: tuple[str, ...]) -> None:
    name = " ".join(names)
    if form() != "text":
        print_json({"schemas": {one: topodesign.json_schema(one) for one in ([name] if name else SHAPES)}})
    elif name:
        from topodesign.report.schemas.outline import outline  # noqa: PLC0415  not for the list

        say(outline(name))
    else:
        width = max(map(len, SHAPES))
        say("\n".join(f"{one:<{width}}  {identifier(one)}" for one in SHAPES))

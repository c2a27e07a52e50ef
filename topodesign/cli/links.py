"""``topodesign links``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

import topodesign
from topodesign.base.atomic import write_whole
from topodesign.cli.answers import Command, csv_option, form, json_option
from topodesign.cli.options import FILE, SPEC, option
from topodesign.cli.sources import tell_of_names

if TYPE_CHECKING:
    from topodesign.topology.files import LinkFormat


_FORMS: tuple[LinkFormat, ...] = ("json", "csv", "dot", "graphml", "edges", "adjlist")


@click.command(name="links", cls=Command)
@click.argument("topology", type=SPEC)
@option("--format file_format", "What to print; json if unsaid.", words=_FORMS)
@option("-o --output FILE", "File to write, in the form that its ending says, such as .csv or .edges.", type=FILE)
@csv_option
@json_option
def command(topology: str, file_format: LinkFormat | None, output: Path | None) -> None:
    """Print the links of a topology: what has to be wired.

    TOPOLOGY is a spec such as 'circulant(12,2,3)' (quote it), or a file of links of any format.

    Example: topodesign links 'circulant(12,2,3)' -o links.csv
    """
    asked: LinkFormat | None = next((one for one in _FORMS if one == form()), None)
    if asked is not None and file_format not in {None, asked}:
        raise click.UsageError(f"--{asked} and --format {file_format} exclude each other.")
    said = file_format or asked
    wanted = _form_of(output, said)
    from topodesign.topology.files import links_in_pieces  # noqa: PLC0415  heavy

    place = topodesign.as_topology(topology)
    tell_of_names(place)
    if output is None:
        for text in links_in_pieces(place, wanted):
            click.echo(text, nl=False)
    else:
        write_whole(output, lambda stream: stream.writelines(map(str.encode, links_in_pieces(place, wanted))))


def _form_of(output: Path | None, said: LinkFormat | None) -> LinkFormat:
    """Return the form that is asked for, or that the ending of the file says."""
    ending = None if output is None else output.suffix.lower().removeprefix(".")
    named: LinkFormat | None = next((form for form in _FORMS if form == ending), None)
    if ending is not None and said not in {None, named} and named is not None:
        raise click.UsageError(f"--format {said} does not belong into {output}; leave it out.")
    if ending is not None and said is None and named is None:
        raise click.UsageError(f"Links are written as .{', .'.join(_FORMS)}, not as {output}; or say --format.")
    return said or named or "json"

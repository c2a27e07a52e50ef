"""``topodesign convert``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import topodesign
from topodesign.base.atomic import write_whole
from topodesign.base.options import collect_options, format_flags
from topodesign.base.tables import write_csv
from topodesign.cli.answers import Command, csv_option, form, json_option
from topodesign.cli.options import FILE, SPEC, offer, option
from topodesign.cli.sources import tell_of_names
from topodesign.fabrics.options import MachineOptions, PartOptions

if TYPE_CHECKING:
    from topodesign.fabrics.fabric import Fabric
    from topodesign.topology.files import LinkFormat


_LINKS: tuple[LinkFormat, ...] = ("json", "csv", "dot", "graphml", "edges", "adjlist")
_FABRIC = ("yaml", "json", "csv", "graphml")
_FORMATS = tuple(dict.fromkeys((*_FABRIC, *_LINKS)))


@click.command(name="convert", cls=Command)
@click.argument("network", type=SPEC)
@option("-o --output FILE", "File to write; its ending selects the format.  [default: standard output]", type=FILE)
@option("--format file_format", "Format, if no ending of a file selects it.", words=_FORMATS)
@option(
    "--as contents",
    "Write links between numbers, or a fabric with names, switches and bandwidths.  [default: links of a topology, "
    "otherwise a fabric]",
    words=["links", "fabric"],
)
@offer(PartOptions)
@offer(MachineOptions, section="Machine")
@csv_option
@json_option
def command(network: str, output: Path | None, file_format: str | None, contents: str | None, **options: Any) -> None:
    """Write a network to a file, or read one from a machine.

    NETWORK is a topology spec such as 'circulant(12,2,3)' (quote it), a fabric such as 'dgx_a100(2)', or a file. With
    --from it is the output of a tool of a machine, such as 'nvidia-smi topo -m'. 'topodesign info fabrics' lists the
    fabrics.

    Examples: topodesign convert 'circulant(12,2,3)' -o links.csv,
    topodesign convert 'dgx_a100(2)' --members 'box0/*' -o box.yaml
    """
    asked = form()
    if asked != "text" and file_format not in {None, asked}:
        raise click.UsageError(f"--{asked} cannot be combined with --format {file_format}; remove one.")
    wanted = file_format or (None if asked == "text" else asked)
    part = {name: options.pop(name) for name in collect_options(PartOptions)}
    if contents is None:
        contents = "links" if _names_links(network, output, wanted, part, options) else "fabric"
    if contents == "links":
        _write_links(network, output, wanted, part, options)
    else:
        _write_fabric(network, output, wanted, part, options)


def _names_links(network: str, output: Path | None, wanted: str | None, *groups: dict[str, Any]) -> bool:
    """Return whether a network is a plain topology, written as links."""
    known = {**collect_options(PartOptions), **collect_options(MachineOptions)}
    if any(value != known[name].default for group in groups for name, value in group.items()):
        return False
    if wanted == "yaml" or (wanted is None and output is not None and output.suffix.lower() in {".yaml", ".yml"}):
        return False
    from topodesign.fabrics.places import as_place  # noqa: PLC0415  NumPy, which help does without

    return isinstance(as_place(network), topodesign.Topology)


def _write_links(
    network: str, output: Path | None, wanted: str | None, part: dict[str, Any], machine: dict[str, Any]
) -> None:
    given = [name for name, one in collect_options(PartOptions).items() if part[name] != one.default]
    given += [name for name, one in collect_options(MachineOptions).items() if machine[name] != one.default]
    if given:
        raise click.UsageError(f"{format_flags(given)} cannot be combined with --as links; use --as fabric.")
    file_format = _format_of(output, wanted, _LINKS, "json")
    from topodesign.topology.files import links_in_pieces  # noqa: PLC0415  heavy

    place = topodesign.as_topology(network)
    tell_of_names(place)
    if output is None:
        for text in links_in_pieces(place, file_format):
            click.echo(text, nl=False)
    else:
        write_whole(output, lambda stream: stream.writelines(map(str.encode, links_in_pieces(place, file_format))))


def _write_fabric(
    network: str, output: Path | None, wanted: str | None, part: dict[str, Any], machine: dict[str, Any]
) -> None:
    fabric = topodesign.select_part(_whole(network, machine), part["only"], part["others"], part["without"])
    file_format = _format_of(output, wanted, _FABRIC, "yaml")
    text = _table_of_links(fabric) if file_format == "csv" else topodesign.write_fabric(fabric, file_format)
    if output is None:
        click.echo(text, nl=False)
    else:
        write_whole(output, text)


def _whole(network: str, machine: dict[str, Any]) -> Fabric:
    """Return the named or imported fabric."""
    if machine["tool"] is None:
        given = [name for name, option in collect_options(MachineOptions).items() if machine[name] != option.default]
        if given:
            raise click.UsageError(f"{format_flags(given)} requires --from TOOL.")
        return topodesign.as_fabric(network)
    made = topodesign.fabric_of_machine(network, **machine)
    for sentence in made.assumed:
        click.echo(f"topodesign: {sentence}", err=True)
    return made.fabric


def _table_of_links(fabric: Fabric) -> str:
    """Return the links as CSV: end names, bytes per second, class."""
    rows = [(link.src, link.dst, str(link.bandwidth), link.kind) for link in fabric.links()]
    return write_csv([("from", "to", "bandwidth", "class"), *rows])


def _format_of(output: Path | None, wanted: str | None, known: tuple[str, ...], default: str) -> Any:
    """Return the given format, or that of the file's ending."""
    if output is None:
        ending = None
    else:
        ending = output.suffix.lower().removeprefix(".")
        ending = "yaml" if ending == "yml" else ending
    if wanted is not None and ending in known and ending != wanted:
        raise click.UsageError(f"--format {wanted} does not match {output}; remove it or use the ending .{wanted}.")
    chosen = wanted or (default if ending is None else ending)
    if chosen not in known:
        raise click.UsageError(f"cannot write {output or chosen}; use {', '.join(f'.{one}' for one in known)}.")
    return chosen

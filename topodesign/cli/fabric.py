"""``topodesign fabric``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import topodesign
from topodesign.base.atomic import write_whole
from topodesign.base.options import declared, flagged
from topodesign.base.tables import write_csv
from topodesign.cli.answers import Command, csv_option, form, json_option
from topodesign.cli.options import FILE, SPEC, offer, option
from topodesign.fabrics.options import MachineOptions, PartOptions

if TYPE_CHECKING:
    from topodesign.fabrics.fabric import Fabric
    from topodesign.fabrics.files import FabricFormat
    from topodesign.fabrics.part import Others


@click.command(name="fabric", cls=Command)
@click.argument("fabric", type=SPEC)
@offer(PartOptions)
@option("-o --output", "File to write; else standard output.", type=FILE)
@option(
    "--format file_format", "What to write; else as the file's ending says, or yaml.", words=["yaml", "json", "graphml"]
)
@offer(MachineOptions, section="Machine")
@csv_option
@json_option
def command(
    fabric: str,
    only: tuple[str, ...],
    others: Others,
    without: tuple[str, ...],
    output: Path | None,
    file_format: FabricFormat | None,
    **machine: Any,
) -> None:
    """Write a fabric, or what is left of it, as a file: to look at it, to change it, or to schedule it.

    FABRIC is a file, the spec of a topology, or one of dgx_a100(boxes), dgx_h100(boxes), dgx_h200(boxes),
    dgx_b200(boxes), dgx_b300(boxes), gb200_nvl72(racks), gb300_nvl72(racks), dgx1_v100(boxes), mi250(boxes),
    mi300x(boxes), mi325x(boxes), mi350x(boxes), mi355x(boxes), gaudi3(boxes), trn2(instances), trn2_ultra(servers),
    pcie_box(boxes), pcie_pair(boxes), tpu_torus(a,b,...), tpu_v4(a,b,c), tpu_v5p(a,b,c), tpu_v7(a,b,c), tpu_v5e(a,b),
    tpu_v6e(a,b), ualink_pod(accelerators,stations), sue_pod(accelerators,ports), rail_optimised(boxes,gpus),
    rail_spine(boxes,gpus,spines[,over[,under]]), fat_tree(leaves,hosts,spines[,over[,under]]),
    fat_tree3(pods,leaves,hosts,spines,cores[,over[,under]]), dragonfly(groups,routers,hosts) and
    dragonfly_plus(groups,leaves,hosts,spines), such as 'dgx_a100(2)' (quote it).

    With --from FABRIC is what a tool of the machine itself says of a box, such as the output of 'nvidia-smi topo -m'.

    Example: topodesign fabric 'dgx_a100(2)' --only 'box0/*' -o box.yaml
    """
    asked = form()
    if file_format is not None and asked not in {"text", file_format}:
        raise click.UsageError(f"--{asked} and --format {file_format} exclude each other.")
    part = topodesign.part_of(_whole(fabric, machine), only, others, without)
    if asked == "csv" or (
        output is not None and output.suffix.lower() == ".csv" and (file_format, asked) == (None, "text")
    ):
        text = _table_of_links(part)
    else:
        text = topodesign.write_fabric(part, "json" if asked == "json" else file_format or _format_of(output))
    if output is None:
        click.echo(text, nl=False)
    else:
        write_whole(output, text)


def _whole(fabric: str, machine: dict[str, Any]) -> Fabric:
    """Return the fabric that is named, or that a tool tells of; what is assumed of it goes to standard error."""
    if machine["tool"] is None:
        given = [name for name, option in declared(MachineOptions).items() if machine[name] != option.default]
        if given:
            raise click.UsageError(f"{flagged(given)}: without --from nothing is open that it could say.")
        return topodesign.as_fabric(fabric)
    made = topodesign.fabric_of_machine(fabric, **machine)
    for sentence in made.assumed:
        click.echo(f"topodesign: {sentence}", err=True)
    return made.fabric


def _table_of_links(fabric: Fabric) -> str:
    """Return the links as comma-separated values, for spreadsheets: names of ends, bytes per second, class."""
    rows = [(link.src, link.dst, str(link.bandwidth), link.kind) for link in fabric.links()]
    return write_csv([("from", "to", "bandwidth", "class"), *rows])


def _format_of(output: Path | None) -> FabricFormat:
    ending = ".yaml" if output is None else output.suffix.lower()
    known: dict[str, FabricFormat] = {".yaml": "yaml", ".yml": "yaml", ".json": "json", ".graphml": "graphml"}
    if ending not in known:
        raise click.UsageError(f"A fabric file ends in {', '.join(known)}, not '{ending}'; or say --format.")
    return known[ending]

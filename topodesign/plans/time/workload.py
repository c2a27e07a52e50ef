"""A training step: layers with gradients and their allreduces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from pathlib import Path

from topodesign.base.arguments import as_path
from topodesign.base.cost import Cost
from topodesign.base.declared import Declared
from topodesign.base.errors import FileFormatError, ParameterError, UnitError
from topodesign.base.file_kinds import FileKind, expecting
from topodesign.base.tables import csv_rows
from topodesign.base.text_files import read_text
from topodesign.base.units import format_size_rounded, format_time, parse_size, parse_time

COLUMNS = ("layer", "size", "ready")
MAX_LAYERS = 10**6
_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Layer:
    """A part of a model with one gradient allreduce."""

    name: str  # what it is called
    size: Fraction  # gradients, in bytes
    ready: Fraction  # seconds from the start of the training step until they are computed


@dataclass(frozen=True, slots=True)
class LayerTime:
    """Start and end of a layer's allreduce, in seconds."""

    layer: Layer
    start: Fraction
    finish: Fraction


@dataclass(frozen=True)
class TrainingStep(Declared):
    """What communication does to a training step."""

    layers: tuple[LayerTime, ...]  # times of every allreduce, in their order; not empty

    KEYS = "finish_s=float(finish) compute_s=float(compute) exposed_s=float(exposed) allreduce_s=float(allreduce)"

    @property
    def finish(self) -> Fraction:
        """Seconds until the last allreduce has finished."""
        return self.layers[-1].finish

    @property
    def compute(self) -> Fraction:
        """Seconds of a step without communication."""
        return self.layers[-1].layer.ready

    @property
    def exposed(self) -> Fraction:
        """Seconds of communication that no computation hides."""
        return self.finish - self.compute

    @property
    def allreduce(self) -> Fraction:
        """Seconds in all allreduces together."""
        return sum((times.finish - times.start for times in self.layers), Fraction(0))

    def __str__(self) -> str:
        whole, alone, exposed, total = map(format_time, (self.finish, self.compute, self.exposed, self.allreduce))
        lines = [f"training step {whole}: computation {alone}, exposed communication {exposed} of {total} in all"]
        if len(self.layers) > _SHOWN:
            lines.append(f"  ... {len(self.layers) - _SHOWN} allreduces before these")
        for times in self.layers[-_SHOWN:]:
            layer = times.layer
            lines.append(
                f"  {layer.name}: {format_size_rounded(Fraction(layer.size))} ready at {format_time(layer.ready)}, "
                f"allreduce {format_time(times.start)} to {format_time(times.finish)}"
            )
        return "\n".join(lines)


def backpropagation(
    layers: Iterable[Layer], cost: Cost, *, alpha: Fraction, bandwidth: Fraction, bucket: Fraction | None = None
) -> TrainingStep:
    """Time a training step with sequential allreduces of layers.

    The allreduce of a layer starts when its gradients are ready and the one before has finished.

    Efficient Direct-Connect Topologies, section 8.4: f_i = max(f_{i-1}, r_i) + 2 (T_B(M_i) + T_L), with f_0 = 0.
    """
    if alpha < 0 or bandwidth <= 0 or (bucket is not None and bucket <= 0):
        raise ParameterError("alpha must not be negative, bandwidth and bucket must be above zero")
    ordered = sorted(layers, key=lambda layer: layer.ready)
    if not ordered:
        raise ParameterError("a workload requires at least one layer")
    if bucket is not None:
        ordered = list(_fuse(ordered, bucket))

    def follow(before: LayerTime, after: LayerTime) -> LayerTime:
        start = max(before.finish, after.layer.ready)
        return LayerTime(after.layer, start, start + after.finish - after.start)

    alone = (
        LayerTime(layer, layer.ready, layer.ready + cost.allreduce(alpha, layer.size, bandwidth)) for layer in ordered
    )
    return TrainingStep(tuple(accumulate(alone, follow)))


def _fuse(layers: Sequence[Layer], bucket: Fraction) -> Iterator[Layer]:
    """Join layers into ones of at least ``bucket`` bytes."""
    part: list[Layer] = []
    size = Fraction(0)
    for number, layer in enumerate(layers, 1):
        part.append(layer)
        size += layer.size
        if size >= bucket or number == len(layers):
            name = layer.name if len(part) == 1 else f"{part[0].name} to {layer.name}"
            yield Layer(name, size, layer.ready)
            part, size = [], Fraction(0)


def load_workload(path: str | Path) -> tuple[Layer, ...]:
    """Read the layers of a model from a CSV file.

    The first line that is neither empty nor a comment (``#``) names the columns ``layer,size,ready``, in any order;
    further columns are ignored. A size needs its unit, as in ``9.2MiB`` or ``37632B``, and so does a time: ``12.5ms``.
    """
    source = as_path(path)
    with expecting(source, FileKind.LAYERS):
        return tuple(_layers(read_text(source)))


def _layers(text: str) -> Iterator[Layer]:
    """Yield the layers of a workload file."""
    rows = csv_rows(text, comments=True)
    header = _header(*next(rows, (1, list(COLUMNS))))
    count = 0
    for line, cells in rows:
        if len(cells) != len(header):
            raise FileFormatError(f"line {line}: {len(cells)} cells, but the first line names {len(header)} columns")
        row = dict(zip(header, map(str.strip, cells), strict=True))
        if not row["layer"]:
            raise FileFormatError(f"line {line}, column 'layer': the name is missing")
        count += 1
        if count > MAX_LAYERS:
            raise FileFormatError(f"line {line}: more than {MAX_LAYERS} layers")
        size = _quantity(row["size"], parse_size, f"line {line}, column 'size'")
        yield Layer(row["layer"], size, _quantity(row["ready"], parse_time, f"line {line}, column 'ready'"))
    if not count:
        raise FileFormatError(f"it has no layers; its lines are {','.join(COLUMNS)}, as in conv1,37632B,12.5ms")


def _header(line: int, cells: Sequence[str]) -> list[str]:
    header = [cell.strip() for cell in cells]
    for column in COLUMNS:
        if header.count(column) != 1:
            problem = "names no" if column not in header else "names twice the"
            raise FileFormatError(f"line {line}: the first line {problem} column {column!r}; write {','.join(COLUMNS)}")
    return header


def _quantity(text: str, parse: Callable[[str], Fraction], where: str) -> Fraction:
    try:
        return parse(text)
    except UnitError as error:
        raise FileFormatError(f"{where}: {error}") from None

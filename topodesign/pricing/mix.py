"""The traffic of a training step: collectives, sizes and counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from topodesign.base.arguments import as_choice, as_path
from topodesign.base.declared import Declared, key
from topodesign.base.errors import FileFormatError, UnitError
from topodesign.base.file_kinds import FileKind, expecting
from topodesign.base.tables import LocatedValue, parse_yaml
from topodesign.base.text_files import read_text
from topodesign.base.units import as_size, format_size, parse_size
from topodesign.base.wording import suggest

PRICED = ("allreduce", "allgather", "reduce-scatter", "all-to-all")  # collectives that every topology has a price of

_LARGEST_FILE = 2**20
_MAX_COUNT = 10**9


@dataclass(frozen=True, slots=True)
class Share(Declared):
    """A collective of a step."""

    collective: str
    size: Fraction
    count: int = 1

    KEYS = (
        key("collective", "What is done; one of `PRICED`."),
        key(
            "size_bytes=number(size)",
            "Data M in bytes: the whole of it for an allgather and its like, the data of a node for all-to-all.",
        ),
        key("count", "How often in a step."),
    )


@dataclass(frozen=True)
class Mix(Declared):
    """All collectives of a step, one after the other."""

    name: str  # what it is called
    shares: tuple[Share, ...]  # what it does; at least one collective

    KEYS = "name collectives=shares"

    @property
    def words(self) -> str:
        """Return the contents: ``2 x all-to-all 64MiB + 1 x allreduce 1GB``."""
        return " + ".join(f"{one.count} x {one.collective} {format_size(one.size)}" for one in self.shares)


def read_mix(path: str | Path) -> Mix:
    """Read a step's collectives from a YAML or JSON file.

    It has a ``name`` (optional) and ``collectives``, a list of ``collective``, ``size`` (such as ``64MiB``) and
    ``count`` (1 unless told otherwise).
    """
    path = as_path(path)
    with expecting(path, FileKind.COLLECTIVES):
        return mix_of(parse_yaml(read_text(path, (".yaml", ".yml", ".json"), _LARGEST_FILE)), path.stem)


def mix_of(document: LocatedValue, name: str) -> Mix:
    """Return the mix of a document, or of a part of a file.

    Of the given name if it has none.
    """
    fields = _fields(document, "workload", ("collectives",), ("name",))
    return Mix(_text(fields["name"], "name") if "name" in fields else name, _shares(fields["collectives"]))


def single(collective: str, size: Fraction) -> Mix:
    """Return a step of one collective."""
    return Mix(collective, (Share(collective, as_size(size)),))


def questions(collective: str, workload: Mix | str | Path | None, sizes: Iterable[Fraction]) -> tuple[Mix, ...]:
    """Return the questions of a ranking: sizes of a collective, or a mix."""
    if workload is not None:
        return (workload if isinstance(workload, Mix) else read_mix(workload),)
    return tuple(single(as_choice("collective", collective, PRICED), size) for size in sizes)


def _shares(entries: LocatedValue) -> tuple[Share, ...]:
    if not isinstance(entries.value, list) or not entries.value:
        raise FileFormatError(f"line {entries.line}: collectives: expected a list of at least one")
    return tuple(_share(entry, f"collective {number}") for number, entry in enumerate(entries.value, start=1))


def _share(entry: LocatedValue, where: str) -> Share:
    fields = _fields(entry, where, ("collective", "size"), ("count",))
    name = _text(fields["collective"], f"{where}: collective")
    if name not in PRICED:
        hint = suggest(name, PRICED, most=1, like=0.6)
        raise FileFormatError(
            f"line {fields['collective'].line}: {where}: no collective {name[:50]!r} has a price; {hint}"
        )
    size = fields["size"]
    try:
        amount = parse_size(_text(size, f"{where}: size"))
    except UnitError as error:
        raise FileFormatError(f"line {size.line}: {where}: size: {error}") from None
    count = fields.get("count")
    return Share(name, amount, 1 if count is None else _whole(count, f"{where}: count"))


def _fields(
    value: LocatedValue, where: str, required: tuple[str, ...], optional: tuple[str, ...]
) -> Mapping[str, LocatedValue]:
    known = (*required, *optional)
    if not isinstance(value.value, dict):
        raise FileFormatError(f"line {value.line}: {where}: expected the fields {', '.join(known)}")
    for name, inner in value.value.items():
        if name not in known:
            raise FileFormatError(
                f"line {inner.line}: {where}: unknown field {name[:50]!r}; {suggest(name, known, like=0.6)}"
            )
    for name in required:
        if name not in value.value:
            raise FileFormatError(f"line {value.line}: {where}: the field '{name}' is missing")
    fields: Mapping[str, LocatedValue] = value.value
    return fields


def _text(value: LocatedValue, where: str) -> str:
    if not isinstance(value.value, str) or not value.value.strip():
        raise FileFormatError(f"line {value.line}: {where}: expected text")
    return value.value.strip()


def _whole(value: LocatedValue, where: str) -> int:
    text = _text(value, where)
    if not text.isascii() or not text.isdigit() or len(text) > 10 or not 1 <= int(text) <= _MAX_COUNT:
        raise FileFormatError(f"line {value.line}: {where}: expected a whole number from 1 to {_MAX_COUNT}")
    return int(text)

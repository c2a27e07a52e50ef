"""The fields of a request as they were given, each with its line, and the errors that name them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from topodesign.base.arguments import as_path
from topodesign.base.errors import FileFormatError, TopodesignError
from topodesign.base.options import declared
from topodesign.base.tables import Located
from topodesign.base.wording import suggest
from topodesign.report.design.fields import RequestOptions

_FIELDS = declared(RequestOptions)
_MEANT = {
    "accelerators": "nodes",
    "hosts": "nodes",
    "gpus": "nodes",
    "ports": "degree",
    "latency": "alpha",
    "speed": "bandwidth",
    "mix": "workload",
    "collectives": "workload",
    "inventory": "room",
    "plant": "room",
    "against": "rivals",
    "step": "model",
    "costs": "prices",
    "power": "watts",
    "failures": "survive",
    "sizes": "grow",
    "optimize": "optimise",
    "objective": "optimise",
}
"""Other words for fields, which do not look like them."""
_Value = TypeVar("_Value")


def wrong_at(place: Located, what: str) -> NoReturn:
    """Raise the error of a place, with its line if it has one."""
    raise FileFormatError(f"line {place.line}: {what}" if place.line else what)


class Fields:
    """The fields of a request, with what reads each."""

    def __init__(self, document: Located, folder: Path | None) -> None:
        self.document, self.folder = document, folder
        self.given: dict[str, Located] = document.value
        for name, value in self.given.items():
            if name not in _FIELDS:
                meant = _MEANT.get(name.lower())
                hint = f"did you mean {meant!r}?" if meant else suggest(name, _FIELDS, most=1, like=0.6)
                wrong_at(value, f"unknown field {name[:50]!r}; {hint}")

    def __contains__(self, name: str) -> bool:
        return name in self.given

    def wrong(self, name: str, what: str) -> NoReturn:
        """Raise the error of a field, at its line."""
        wrong_at(self.given.get(name, self.document), f"{name}: {what}")

    def needs(self, name: str, why: str) -> None:
        """Raise an error if a field is missing."""
        if name not in self.given:
            wrong_at(self.document, f"the field '{name}' is missing: {why}")

    def read(self, name: str, reader: Callable[[Any], _Value], value: Located | None = None) -> _Value:
        """Return the value of a field, or of a part of it, as a function reads it."""
        place = self.given[name] if value is None else value
        if isinstance(place.value, dict | list):
            wrong_at(place, f"{name}: expected one value")
        try:
            return reader(place.value)
        except TopodesignError as error:
            text = str(error)
            wrong_at(place, text if text.startswith(name) else f"{name}: {text}")

    def amount(self, name: str, reader: Callable[[Any], Fraction]) -> Fraction | None:
        """Return a quantity; None where it is not given."""
        return self.read(name, reader) if name in self.given else None

    def whole(self, name: str, value: Located | None = None) -> int:
        """Return a whole number in the range of a field."""
        return int(self.read(name, lambda said: _FIELDS[name].read(name, number_of(said)), value))

    def word(self, name: str) -> Any:
        """Return one of the words of a field."""
        option = _FIELDS[name]
        return self.read(name, lambda said: option.read(name, said)) if name in self.given else option.default

    def items(self, name: str) -> list[Located]:
        """Return the entries of a field that is a list; one value counts as a list of one."""
        if name not in self.given:
            return []
        value = self.given[name]
        if isinstance(value.value, dict):
            self.wrong(name, "expected a list")
        return value.value if isinstance(value.value, list) else [value]

    def path(self, name: str) -> Path:
        """Return the path of a file that a field names, beside the request if it is there."""
        said = self.read(name, as_path)
        return said if self.folder is None else self.folder / said


def number_of(said: Any) -> Any:
    """Return text of digits as a number; all else as it is."""
    return int(said) if isinstance(said, str) and said.isascii() and said.isdigit() and len(said) < 20 else said

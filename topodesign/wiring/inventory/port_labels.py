"""Labels of panel ports as other programs give them back: a spreadsheet saves ``001`` as ``1``."""

from __future__ import annotations

from collections.abc import Iterable

from topodesign.base.errors import FileFormatError


class PortLabels:
    """Labels of panel ports, and how they were spelt in what was read.

    ``places``: panels and labels of all ports that are meant.
    """

    def __init__(self, places: Iterable[tuple[str, str]]) -> None:
        self._places = frozenset(places)
        self._by_number: dict[tuple[str, int], list[str]] = {}
        for panel, label in sorted(self._places):
            if is_number(label):
                self._by_number.setdefault((panel, int(label)), []).append(label)
        self._taken: dict[tuple[str, str], str] = {}

    def read(self, panel: str, said: str) -> str:
        """Return the label that is meant: the one that is said, or else the only one of the same number.

        What a panel lacks altogether comes back as it is.
        """
        if (panel, said) in self._places or not is_number(said):
            return said
        known = self._by_number.get((panel, int(said)), [said])
        if len(known) > 1:
            raise FileFormatError(f"panel '{panel}' has no port '{said}', and both '{known[0]}' and '{known[1]}'")
        if known[0] != said:
            self._taken[panel, said] = known[0]
        return known[0]

    @property
    def notes(self) -> tuple[str, ...]:
        """What was read for what, in words; nothing if all labels were as they are."""
        if not self._taken:
            return ()
        (panel, said), label = next(iter(self._taken.items()))
        more = f", and so for {len(self._taken) - 1} more" if len(self._taken) > 1 else ""
        return (f"port '{said}' of panel '{panel}' is taken for '{label}'{more}: zeros are lost in spreadsheets",)


def is_number(text: str, most: int = 9) -> bool:
    """Return whether a text is a number of so many digits at most."""
    return text.isascii() and text.isdecimal() and len(text) <= most

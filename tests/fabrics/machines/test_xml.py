"""XML of tools."""

from __future__ import annotations

import pytest

from topodesign.base.errors import FileFormatError
from topodesign.fabrics.machines.xml import number_of, parse_xml


def test_roots_and_numbers() -> None:
    root = parse_xml('<a n="3"><!-- x --></a>', "a", "a tool")
    assert (number_of(root, "n"), number_of(root, "m", 7), len(root)) == (3, 7, 0)
    for name in ("m", "n"):
        root.set("n", "three")
        with pytest.raises(FileFormatError, match="whole number"):
            number_of(root, name)


@pytest.mark.parametrize("text", ["", "<b/>", "<a>", "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", "\0"])
def test_what_is_no_such_document(text: str) -> None:
    with pytest.raises(FileFormatError):
        parse_xml(text, "a", "a tool")

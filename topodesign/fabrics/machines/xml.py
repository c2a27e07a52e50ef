"""XML of tools, read without external entities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from topodesign.base.errors import FileFormatError
from topodesign.base.memory import check_memory

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_PER_LETTER = 24  # bytes of the tree that one letter may become


def parse_xml(text: str, root: str, tool: str) -> Element:
    """Return the root of an XML document.

    FileFormatError if it is no XML, declares entities, or has another root.
    """
    from lxml import etree  # noqa: PLC0415  heavy

    if "<!ENTITY" in text:
        raise FileFormatError("declarations of entities are not accepted")
    check_memory(_PER_LETTER * len(text), f"{len(text)} letters of XML")
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True
    )
    try:
        found = etree.fromstring(text.encode(), parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise FileFormatError(f"not XML: {error}") from None
    if found.tag != root:
        raise FileFormatError(f"<{root}> is expected, as {tool} writes it, not <{str(found.tag)[:40]}>")
    return found


def number_of(element: Element, name: str, default: int | None = None) -> int:
    """Return the whole number of an attribute.

    FileFormatError if it is none, or missing without a default.
    """
    said = element.get(name)
    if said is None and default is not None:
        return default
    if said is None or not said.isascii() or not said.isdecimal() or len(said) > 12:
        raise FileFormatError(f"{name} of <{element.tag}> is to be a whole number, not {said!r:.40}")
    return int(said)

"""Parts of a fabric: who takes part, and what has failed, as ``--only``, ``--others`` and ``--without`` say it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from numbers import Integral
from typing import Literal, TypeAlias

from topodesign.base.arguments import as_choice, as_integer
from topodesign.base.errors import ParameterError
from topodesign.base.wording import suggest
from topodesign.fabrics.fabric import Fabric

Some: TypeAlias = str | int | Iterable[str | int]
"""Names, patterns and numbers of nodes: one text, with commas between several, one number, or several of these."""
Others = Literal["vanish", "forward"]  # what nodes do that do not take part


def part_of(fabric: Fabric, only: Some = (), others: Others = "vanish", without: Some = ()) -> Fabric:
    """Return what takes part and works.

    Parameters
    ----------
    fabric
        The whole.
    only
        Names and patterns of nodes, with commas between, or numbers of nodes; all if empty.
    others
        What nodes do that are none of these: ``vanish``, or ``forward`` as switches do.
    without
        Links as ``A-B``, or ``A>B`` for one direction, and names or numbers of nodes and switches.

    Raises
    ------
    ParameterError, TopologyError
        As :meth:`~topodesign.fabrics.fabric.Fabric.only` and :meth:`~topodesign.fabrics.fabric.Fabric.without`.

    Examples
    --------
    >>> from topodesign.fabrics.presets import build_fabric
    >>> print(part_of(build_fabric("dgx_a100(1)"), only="box0/gpu[0-3]", others="forward"))
    part of dgx_a100(1): 4 nodes, 5 switches
    """
    as_choice("others", others, ("vanish", "forward"))
    part, gone, chosen = fabric, _words(fabric, without), _words(fabric, only)
    if gone:
        vertices = [text for text in gone if text in fabric.names]
        links = [_ends(fabric, text) for text in gone if text not in fabric.names]
        part = part.without(
            vertices=vertices,
            links=[(a, b) for a, sign, b in links if sign == "-"],
            one_way=[(a, b) for a, sign, b in links if sign == ">"],
        )
    if chosen:
        part = part.only(chosen_nodes(part, chosen), forward=others == "forward")
    return fabric if part is fabric else replace(part, name=f"part of {fabric.name}")


def listed(nodes: Some) -> tuple[str | int, ...]:
    """Return one text or number, or several, as several."""
    return (nodes,) if isinstance(nodes, str | Integral) else tuple(nodes)  # type: ignore[arg-type]


def chosen_nodes(fabric: Fabric, only: Some) -> list[str]:
    """Return the names of the nodes that names, patterns and numbers stand for, each once."""
    words = [word.strip() for text in _words(fabric, only) for word in text.split(",")]
    return list(dict.fromkeys(name for word in words for name in nodes_named(fabric, word)))


def _words(fabric: Fabric, some: Some) -> list[str]:
    """Return texts as they are, and for numbers the names of the vertices that have them."""
    return [
        one if isinstance(one, str) else fabric.names[as_integer("a node", one, 0, len(fabric.names) - 1)]
        for one in listed(some)
    ]


def nodes_named(fabric: Fabric, word: str) -> Sequence[str]:
    """Return the nodes that a name or a pattern stands for."""
    nodes = [fabric.names[node] for node in fabric.compute]
    matches = [word] if word in nodes else [name for name in nodes if fnmatchcase(name, word)]
    if not matches:
        fabric.number(word)
        raise ParameterError(f"'{word}' is a switch; only nodes take part in a collective")
    return matches


def compute_node(fabric: Fabric, root: str) -> int:
    """Return the number of a node that is to be a root; raises ParameterError if it is a switch, or unknown."""
    if fabric.number(root) not in fabric.compute:
        raise ParameterError(f"the root '{root}' is a switch")
    return fabric.number(root)


def _ends(fabric: Fabric, text: str) -> tuple[str, str, str]:
    """Split ``A-B`` or ``A>B`` where both sides are names, which may contain the signs themselves."""
    splits = [(text[:i], sign, text[i + 1 :]) for i, sign in enumerate(text) if sign in "->"]
    known = [split for split in splits if {split[0], split[2]} <= set(fabric.names)]
    if known:
        return known[0]
    for first, _, last in splits:
        if first in fabric.names or last in fabric.names:
            fabric.number(first), fabric.number(last)
    raise ParameterError(
        f"--without {text[:100]!r}: write a link as A-B, one direction of it as A>B, or the name of a node or switch; "
        f"{suggest(text, fabric.names)}"
    )

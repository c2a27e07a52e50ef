"""Parts of a fabric: members and failures.

As in ``--members``, ``--forward`` and ``--fail``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from fractions import Fraction
from numbers import Integral
from typing import Literal, NamedTuple, TypeAlias

from topodesign.base.arguments import as_choice, as_integer
from topodesign.base.errors import ParameterError
from topodesign.base.wording import join_words, suggest
from topodesign.fabrics.fabric import Fabric

Some: TypeAlias = str | int | Iterable[str | int]
"""Names, patterns and numbers of nodes: one text, with commas between several, one number, or several of these."""
_SHARE = re.compile(r"0?\.[0-9]{1,6}|[0-9]{1,6}/0*[1-9][0-9]{0,5}")
Others = Literal["vanish", "forward"]  # what nodes do that do not take part


def select_part(fabric: Fabric, only: Some = (), others: Others = "vanish", without: Some = ()) -> Fabric:
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
        Links as ``A-B``, or ``A>B`` for one direction, and names or numbers of nodes and switches. Ends may be
        patterns. A share after a link, as in ``A-B=1/2``, is what is left of its bandwidth.

    Raises
    ------
    ParameterError, TopologyError
        As :meth:`~topodesign.fabrics.fabric.Fabric.only` and :meth:`~topodesign.fabrics.fabric.Fabric.without`.

    Examples
    --------
    >>> from topodesign.fabrics.presets import build_fabric
    >>> print(select_part(build_fabric("dgx_a100(1)"), only="box0/gpu[0-3]", others="forward"))
    part of dgx_a100(1): 4 nodes, 5 switches
    """
    as_choice("others", others, ("vanish", "forward"))
    part, gone, chosen = fabric, _words(fabric, without), _words(fabric, only)
    if gone:
        vertices = [text for text in gone if text in fabric.names]
        links = [found for text in gone if text not in fabric.names for found in _links_named(fabric, text)]
        part = part.degraded({(one.a, one.b): one.share for one in links if one.share}).without(
            vertices=vertices, one_way=[(one.a, one.b) for one in links if not one.share]
        )
    if chosen:
        part = part.only(select_nodes(part, chosen), forward=others == "forward")
    return fabric if part is fabric else replace(part, name=f"part of {fabric.name}")


def as_names(nodes: Some) -> tuple[str | int, ...]:
    """Return one text or number, or several, as several."""
    return (nodes,) if isinstance(nodes, str | Integral) else tuple(nodes)  # type: ignore[arg-type]


def select_nodes(fabric: Fabric, only: Some) -> list[str]:
    """Return the names of nodes that names, patterns and numbers match, once."""
    words = [word.strip() for text in _words(fabric, only) for word in text.split(",")]
    return list(dict.fromkeys(name for word in words for name in nodes_named(fabric, word)))


def _words(fabric: Fabric, some: Some) -> list[str]:
    """Return texts as they are, and numbers as names of vertices."""
    return [
        one if isinstance(one, str) else fabric.names[as_integer("a node", one, 0, len(fabric.names) - 1)]
        for one in as_names(some)
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
    """Return the number of a node for a root.

    ParameterError if it is a switch or unknown.
    """
    if fabric.number(root) not in fabric.compute:
        raise ParameterError(f"the root '{root}' is a switch")
    return fabric.number(root)


class _LinkShare(NamedTuple):
    """A direction of a link, and what is left of it."""

    a: str
    b: str
    share: Fraction


def _links_named(fabric: Fabric, text: str) -> Iterator[_LinkShare]:
    """Yield the link directions of ``A-B``, ``A>B`` or ``A-B=share``."""
    word, share = _share(fabric, text)
    a, sign, b = _ends(fabric, word, text)
    links = [(link.src, link.dst) for link in fabric.links()]
    pairs = [(a, b), (b, a)] if sign == "-" else [(a, b)]
    found = {(src, dst) for src, dst in links for one, other in pairs if _is(src, one) and _is(dst, other)}
    if not found and {a, b} <= set(fabric.names):  # which says what there is instead
        fabric.without(links=[(a, b)]) if sign == "-" else fabric.without(one_way=[(a, b)])
    if not found:
        raise ParameterError(f"no link joins '{a}' and '{b}'")
    yield from (_LinkShare(src, dst, share) for src, dst in sorted(found))


def _share(fabric: Fabric, text: str) -> tuple[str, Fraction]:
    """Return a link and its remaining share, 0 by default."""
    word, sign, said = text.rpartition("=")
    names = set(fabric.names)
    if not sign or any({text[:at], text[at + 1 :]} <= names for at, letter in enumerate(text) if letter in "->"):
        return text, Fraction(0)
    share = Fraction(said) if _SHARE.fullmatch(said) else None
    if share is None or not 0 < share < 1:
        raise ParameterError(
            f"--fail {text[:100]!r}: the remaining share of a link must be a number such as 0.5 or 1/2"
        )
    return word, share


def _is(name: str, word: str) -> bool:
    return name == word or fnmatchcase(name, word)


def _ends(fabric: Fabric, word: str, text: str) -> tuple[str, str, str]:
    """Split ``A-B`` or ``A>B``, where names may contain the signs."""
    splits = [(word[:i], sign, word[i + 1 :]) for i, sign in enumerate(word) if sign in "->"]
    for split in splits:
        if {split[0], split[2]} <= set(fabric.names):
            return split
    for split in splits:
        if all(any(fnmatchcase(name, end) for name in fabric.names) for end in (split[0], split[2])):
            return split
    for pair in ((split[0], split[2]) for split in splits):
        for known, other in (pair, pair[::-1]):
            if known in fabric.names:
                ends = dict.fromkeys(link.dst for link in fabric.links() if link.src == known)
                words = f"no node or switch is named '{other[:100]}'; links of '{known}' go to {join_words(list(ends))}"
                raise ParameterError(f"--fail {text[:100]!r}: {words}")
    raise ParameterError(
        f"--fail {text[:100]!r}: write a link as A-B, one direction of it as A>B, or the name of a node or switch; "
        f"{suggest(text, fabric.names)}"
    )

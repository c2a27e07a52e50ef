"""Unequal links: a CSV table of latencies and bandwidths."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from topodesign.base.arguments import as_path
from topodesign.base.errors import FileFormatError, UnitError
from topodesign.base.tables import make_row_error, read_fixed_columns
from topodesign.base.text_files import naming, read_text
from topodesign.base.units import parse_bandwidth, parse_time
from topodesign.base.wording import count_noun
from topodesign.topology.topology import Topology

Link = tuple[int, int]
_COLUMNS = ("src", "dst", "alpha", "bandwidth")
_ROW = "a row such as 0,5,10us,25Gbps"


@dataclass(frozen=True)
class LinkTable:
    """Latency and bandwidth of links."""

    alpha: Mapping[Link, Fraction]  # seconds, by (src, dst)
    bandwidth: Mapping[Link, Fraction]  # bits per second of all parallel links together, by (src, dst)

    def on(self, topology: Topology) -> LinkTable:
        """Return the table for the links of a topology, without self-loops."""
        pairs = sorted({*self.alpha, *self.bandwidth})
        links = {(u, v) for u, v, _ in topology.links()} | {(u, u) for u in range(topology.nodes)}
        wrong = [pair for pair in pairs if pair not in links]
        if wrong:
            u, v = wrong[0]
            raise FileFormatError(
                f"the link table has {count_noun(len(wrong), 'row')} for no link of the topology, such as {u},{v}"
            )
        return self.rename(lambda link: link if link[0] != link[1] else None)

    def rename(self, there: Callable[[Link], Link | None]) -> LinkTable:
        """Return the table with renumbered ends, without those that have no number."""

        def moved(values: Mapping[Link, Fraction]) -> dict[Link, Fraction]:
            return {pair: value for link, value in values.items() if (pair := there(link)) is not None}

        return LinkTable(moved(self.alpha), moved(self.bandwidth))

    def columns(self, topology: Topology) -> tuple[list[Fraction], list[Fraction]]:
        """Return alpha and bandwidth in the order of ``topology.links()``.

        Self-loops carry nothing and get any.
        """
        pairs = [(u, v) for u, v, _ in topology.links()]
        missing = [pair for pair in pairs if pair not in self.alpha and pair[0] != pair[1]]
        if missing:
            u, v = missing[0]
            raise FileFormatError(
                f"the link table lacks {count_noun(len(missing), 'link')} of the topology, such as {u},{v}"
            )
        return [self.alpha.get(p, Fraction(0)) for p in pairs], [self.bandwidth.get(p, Fraction(1)) for p in pairs]

    def transpose(self) -> LinkTable:
        """Return the table for the links turned round."""
        return self.rename(lambda link: (link[1], link[0]))


def read_link_table(path: str | Path) -> LinkTable:
    """Read a table with the header ``src,dst,alpha,bandwidth``.

    Rows are such as ``0,5,10us,25Gbps``.
    """
    path = as_path(path)
    alpha: dict[Link, Fraction] = {}
    bandwidth: dict[Link, Fraction] = {}
    with naming(path):
        for line, pair, latency, rate in _rows(read_text(path)):
            if pair in alpha:
                raise FileFormatError(f"line {line}: the link {pair[0]},{pair[1]} already exists")
            alpha[pair], bandwidth[pair] = latency, rate
    return LinkTable(alpha, bandwidth)


def _rows(text: str) -> Iterator[tuple[int, Link, Fraction, Fraction]]:
    for line, cells in read_fixed_columns(text, _COLUMNS, _ROW):
        src, dst, latency, rate = cells
        if not (_is_node(src) and _is_node(dst)):
            raise make_row_error(line, cells, _ROW)
        try:
            yield line, (int(src), int(dst)), parse_time(latency), parse_bandwidth(rate)
        except UnitError as error:
            raise FileFormatError(f"line {line}: {error}") from None


def _is_node(cell: str) -> bool:
    return cell.isascii() and cell.isdecimal() and len(cell) <= 9

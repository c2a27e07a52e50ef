"""Networks as lines of text: edges, neighbours, and comma-separated values."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from typing import Any

from topodesign.base.errors import FileFormatError
from topodesign.base.tables import csv_rows, make_row_error
from topodesign.fabrics.networks.meaning import Rules
from topodesign.fabrics.networks.raw import PLAIN, RawNetwork, is_whole

SOURCES = ("src", "source", "from", "node1", "a")
_OURS = ("capacity", "bandwidth", "class")
TARGETS = ("dst", "target", "to", "node2", "b")


def read_lines(text: str, ending: str, rules: Rules) -> RawNetwork:
    """Return the network of a list of edges or of neighbours.

    Two words a line are an undirected edge, a third column or a mapping its attributes. Lines of several lengths are
    lists of neighbours. Where lines fit both, the ending .adjlist or ``--read form=adjlist`` decides.
    """
    rows: list[tuple[int, list[str], Mapping[str, Any]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        plain, sign, rest = line.partition("#")[0].partition("{")
        cells = plain.split() if sign or "," not in plain else [cell.strip("(),") for cell in plain.split()]
        fields: Mapping[str, Any] = PLAIN
        if sign:
            try:
                fields = ast.literal_eval("{" + rest.strip()) or PLAIN
            except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                fields = PLAIN if rest.strip() == "}" else None  # type: ignore[assignment]
            if not isinstance(fields, dict) or not all(isinstance(name, str) for name in fields):
                raise FileFormatError(f"line {number}: expected two nodes and a mapping such as {{'capacity': 2}}")
        if cells:
            rows.append((number, cells, fields))
    if not rows:
        raise FileFormatError("there are no links in the file")
    lengths = {len(cells) for _, cells, _ in rows}
    form = rules.form or {".adjlist": "adjlist", ".edges": "edges", ".edgelist": "edges"}.get(ending, "")
    if not form and not lengths <= {2, 3} and not _are_numbers(rows):
        number, cells, _ = next(row for row in rows if len(row[1]) not in {2, 3} or not all(map(is_whole, row[1])))
        raise FileFormatError(
            f"line {number}: {' '.join(cells)[:40]!r} is not an edge, and begins no known format (see networks.md)"
        )
    if not form and len(rows[0][1]) == 1 and {len(cells) for _, cells, _ in rows[1:]} == {2}:
        form = "edges"  # after the number of nodes
    if form == "adjlist" or (not form and (1 in lengths or max(lengths) > 3)):
        return _neighbours(rows, rules)
    return _edges(rows, rules)


def _are_numbers(rows: list[tuple[int, list[str], Mapping[str, Any]]]) -> bool:
    return all(is_whole(cell) for _, cells, _ in rows for cell in cells)


def _edges(rows: list[tuple[int, list[str], Mapping[str, Any]]], rules: Rules) -> RawNetwork:
    """Read one undirected edge a line, perhaps after a heading with counts."""
    notes: list[str] = []
    heading = [int(cell) for cell in rows[0][1]] if all(map(is_whole, rows[0][1])) else []
    switches: range | None = None
    if len(rows) > 1 and len(heading) == 3 and {len(cells) for _, cells, _ in rows[1:]} == {2}:
        hosts, count, radix = heading  # a host-switch graph of Graph Golf
        used = {int(cell) for _, cells, _ in rows[1:] for cell in cells if is_whole(cell)}
        if used and max(used) == hosts + count - 1 and _are_numbers(rows):
            switches, rows = range(hosts, hosts + count), rows[1:]
            notes.append(f"line 1 is a heading: {hosts} hosts, then {count} switches of {radix} ports")
    elif len(rows) > 2 and len(heading) in {1, 2}:
        ends = [cells[:2] for _, cells, _ in rows[1:]]
        used = {int(cell) for cells in ends for cell in cells if is_whole(cell)}
        fits = heading[0] in {len(used), max(used, default=0) + 1} and min(used, default=0) in {0, 1}
        if fits and (len(heading) == 1 or heading[1] == len(ends)) and len(used) >= max(used, default=0):
            rows = rows[1:]
            notes.append("line 1 is a heading with the number of nodes" + (" and edges" if len(heading) == 2 else ""))
    edges = []
    for number, cells, fields in rows:
        if len(cells) not in {2, 3}:
            raise FileFormatError(f"line {number}: an edge has two nodes, not {len(cells)}")
        said = fields if len(cells) == 2 else {"column3": cells[2], **fields}
        edges.append((cells[0], cells[1], said))
    nodes = name_nodes([end for u, v, _ in edges for end in (u, v)], rules, notes)
    if switches is not None:
        nodes = {name: {"switch": True} if int(name) in switches else PLAIN for name in nodes}
    return RawNetwork("list of edges", nodes, edges, directed=False, notes=notes)


def _neighbours(rows: list[tuple[int, list[str], Mapping[str, Any]]], rules: Rules) -> RawNetwork:
    """Read one node a line with the nodes that it has links to.

    Where all links lead to nodes of later lines this is how networkx writes undirected graphs, each edge once; as links
    of one way they would never lead back.
    """
    lists: dict[str, list[str]] = {}
    for number, (node, *others), _ in rows:
        if node in lists:
            raise FileFormatError(f"line {number}: node {node[:50]} has a line already")
        lists[node] = others
    place = {node: at for at, node in enumerate(lists)}
    edges = [(u, v, PLAIN) for u, others in lists.items() for v in others]
    once = all(place.get(v, len(place)) > place[u] for u, v, _ in edges if u != v)
    notes: list[str] = []
    nodes = name_nodes([*lists, *(v for _, v, _ in edges)], rules, notes)
    return RawNetwork("list of neighbours", nodes, edges, directed=not once, notes=notes)


def read_csv(text: str, rules: Rules) -> RawNetwork:
    """Read one link a row, from the first column to the second.

    The header names the columns.
    """
    first = next((line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")), "")
    for sign in (";", "\t"):
        if sign in first and "," not in text:
            text = text.replace(sign, ",")
    rows = csv_rows(text, comments=True)
    line, names = next(rows, (1, []))
    header = [cell.strip() for cell in names]
    small = [name.lower() for name in header]
    ends = [next((small.index(word) for word in known if word in small), None) for known in (SOURCES, TARGETS)]
    source, target = ends
    if source is None or target is None or len(set(small)) < len(small):
        raise FileFormatError(f"line {line}: expected the header src,dst (or source,target) and perhaps bandwidth")
    columns = [(at, small[at] if small[at] in _OURS else name) for at, name in enumerate(header) if at not in ends]
    way = next((at for at, _ in columns if small[at] == "type"), None)
    edges: list[tuple[str, str, Mapping[str, Any]]] = []
    for number, cells in rows:
        words = [cell.strip() for cell in cells]
        if len(words) != len(header) or not words[source] or not words[target]:
            raise make_row_error(number, cells, f"{','.join(header)[:60]}")
        said: dict[str, Any] = {name: words[at] for at, name in columns if words[at] and at != way}
        if "capacity" in said and is_whole(said["capacity"]):
            said["capacity"] = int(said["capacity"])
        edges.append((words[source], words[target], said or PLAIN))
        directed = way is None or words[way].lower() in {"", "directed"}
        if way is not None and not directed and words[way].lower() != "undirected":
            raise FileFormatError(f"line {number}: type must be Directed or Undirected, not {words[way][:30]!r}")
        if not directed and words[source] != words[target]:
            edges.append((words[target], words[source], said or PLAIN))
    if not edges:
        raise FileFormatError("there are no links in the file")
    notes: list[str] = []
    nodes = name_nodes([end for u, v, _ in edges for end in (u, v)], rules, notes)
    return RawNetwork("CSV", nodes, edges, directed=True, notes=notes)


def name_nodes(words: Iterable[str], rules: Rules, notes: list[str]) -> dict[str, Mapping[str, Any]]:
    """Return the nodes of a file that lists links only.

    Numbers are to be all from 0 or from 1 on: a gap is a node without links, a heading, or a slip of the pen.
    """
    names = dict.fromkeys(words)
    wrong = next((name for name in names if not is_whole(name) and re.fullmatch(r"[+-]?[\d.]+", name)), None)
    if wrong is not None:
        raise FileFormatError(f"{wrong[:30]!r} is not a node: nodes are whole numbers or names")
    if not all(map(is_whole, names)) or rules.nodes == "names":
        return dict.fromkeys(names, PLAIN)
    used = sorted({int(name) for name in names})
    if len(used) != used[-1] - used[0] + 1 or used[0] > 1:
        start = min(used[0], 1)
        missing = next(number for number, one in enumerate([*used, -1], start) if number != one)
        raise FileFormatError(
            f"no link names node {missing}, but {used[-1]} is a node; is the first line a heading, does the file count "
            "from 1, or are numbers names with gaps (--read nodes=names)?"
        )
    if used[0] == 1:
        notes.append("nodes count from 1")
    return (
        {str(number): PLAIN for number in used}
        if all(str(int(name)) == name for name in names)
        else dict.fromkeys(names, PLAIN)
    )

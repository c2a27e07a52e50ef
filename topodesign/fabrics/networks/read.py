"""The one reader of networks, which finds the format by content."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import Any

from topodesign.base.arguments import as_path
from topodesign.base.errors import FileFormatError, ParameterError, TopologyError, UnitError
from topodesign.base.file_kinds import FileKind, expecting
from topodesign.base.strict_json import parse_json
from topodesign.base.tables import parse_yaml
from topodesign.base.text_files import read_text
from topodesign.fabrics.networks import graphs, lines, ours, tools
from topodesign.fabrics.networks.meaning import Rules, parse_rules, understand
from topodesign.fabrics.networks.network import Network
from topodesign.fabrics.networks.raw import RawNetwork

LARGEST = 256 * 2**20
ENDINGS = (".yaml", ".yml", ".json", ".graphml", ".csv", ".edges", ".edgelist", ".adjlist")
"""Endings by which a text with brackets is a file all the same."""
_RULES: ContextVar[Rules | None] = ContextVar("rules", default=None)
_TELL: ContextVar[Callable[[str], None] | None] = ContextVar("tell", default=None)

_NS3 = (
    r"\A(#.*\n|\s)*[0-9]+ +[0-9]+ +[0-9]+( +[0-9]+ +[0-9]+.*)? *\n(.*\n){0,400}?"
    r"[0-9]+\s+[0-9]+\s+[0-9.]+[kMGT]?bps\s"
)
_NAMED = "|".join((*lines.SOURCES, *lines.TARGETS))
FORMATS: tuple[tuple[re.Pattern[str], Callable[[str], RawNetwork]], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE | re.MULTILINE), reader)
    for pattern, reader in (
        (r"\A\s*<(?s:.{0,2000}?)<gexf\b|\A\s*<gexf\b", graphs.read_gexf),
        (r"\A\s*<(?s:.{0,300}?)linkdefault\s*=", tools.read_fnss),
        (r"\A\s*<", graphs.read_graphml),
        (r"\A\s*(>>graph6<<|>>sparse6<<|:[?-~]+\s*\Z)", graphs.read_graph6),
        (r"\A%%MatrixMarket", graphs.read_matrix_market),
        (r"\A\s*(%.*\n\s*)*\*(vertices|network)", graphs.read_pajek),
        (r"\A(\s|//.*\n|/\*(?s:.*?)\*/|#.*\n)*(strict\s+)?(di)?graph\b[^\[\n]*\{", graphs.read_dot),
        (r"\A(\s|#.*\n)*((creator|version|comment)\b.*\n\s*)*graph\s*\[", graphs.read_gml),
        (r'^(vendid|devid|switchguid|caguid)=0x|^(switch|ca)\s+[0-9]+\s+"', tools.read_ibnetdiscover),
        (r"\A\s*router\s+[0-9]+\s", tools.read_booksim),
        (_NS3, tools.read_ns3),
    )
)
"""How the content of each format begins, and its reader; JSON, YAML and lines of text come after these."""


def read_network(place: Any, rules: Iterable[str] | str = ()) -> Network:
    r"""Read a network from a file of any format, or a networkx or igraph graph.

    Parameters
    ----------
    place
        Path of a file, or a graph.
    rules
        What attributes mean, if their names do not say it: ``capacity=ATTRIBUTE:UNIT``, ``latency=ATTRIBUTE:UNIT``,
        ``role=ATTRIBUTE``, ``switch=PATTERN``, ``ignore=ATTRIBUTE``, ``nodes=names``, ``links=duplex``,
        ``links=directed``, ``form=edges`` or ``form=adjlist``.

    Returns
    -------
    Network
        With what was understood of it in ``notes``.

    Raises
    ------
    FileFormatError
        If the file cannot be read, is of no known format, or has an attribute that may mean something and does not
        say what. The message names the attribute, and the rule that decides it.
    ParameterError
        If a rule says nothing, or ``place`` is neither a path nor a graph.

    Examples
    --------
    >>> from pathlib import Path
    >>> from topodesign import read_network
    >>> _ = Path("ring.csv").write_text("source,target,bw\nh1,h2,10\nh2,h3,10\nh3,h1,10\n")
    >>> network = read_network("ring.csv", "capacity=bw:Gbps")
    >>> print(network)
    ring: CSV, 3 nodes, 3 links; bandwidths are bw (Gbps)
    >>> network.fabric()
    <Fabric ring: 3 nodes, 0 switches>
    """
    chosen = parse_rules(rules) if rules else _RULES.get() or Rules()
    if not isinstance(place, str | Path):
        try:
            network = understand(graphs.from_object(place), chosen, "graph")
        except FileFormatError as error:
            raise ParameterError(str(error)) from None
    else:
        path = as_path(place)
        with expecting(path, FileKind.FABRIC, FileKind.LINKS):
            try:
                raw = _read_text(read_text(path, largest=LARGEST), path.suffix.lower(), chosen)
                network = replace(understand(raw, chosen, path.stem), path=str(path))
            except (TopologyError, ParameterError, UnitError) as error:
                raise FileFormatError(str(error)) from None
    tell = _TELL.get()
    if tell is not None and network.notes:
        tell(str(network))
    return network


@contextmanager
def reading(rules: Iterable[str], tell: Callable[[str], None] | None = None) -> Iterator[None]:
    """Read all networks in a block by some rules, and report what is used."""
    tokens = _RULES.set(parse_rules(rules)), _TELL.set(tell)
    try:
        yield
    finally:
        _RULES.reset(tokens[0])
        _TELL.reset(tokens[1])


def names_file(text: str) -> bool:
    """Return whether a text is a path of a network, not a spec.

    It has a known ending, or no brackets and a dot.
    """
    suffix = Path(text).suffix
    return suffix.lower() in ENDINGS or ("(" not in text and bool(suffix or "/" in text))


def _read_text(text: str, ending: str, rules: Rules) -> RawNetwork:
    yaml = ending in {".yaml", ".yml"}
    if ending == ".json" or (text.lstrip()[:1] in {"{", "["} and not yaml):
        return _read_json(parse_json(text))
    if "\0" in text[:4096]:
        raise FileFormatError("not a text file: it has null bytes")
    for sign, reader in FORMATS:
        if sign.search(text[: 2**16] if sign.pattern.startswith(r"\A") else text[:4096]) is not None:
            return reader(text)
    if graphs.is_graph6(text.strip()):
        return graphs.read_graph6(text)
    first = next((line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")), "")
    if yaml or re.match(r"\s*[\"']?[A-Za-z_][\w-]*[\"']?\s*:(\s|$)", first):
        return _read_yaml(text)
    words = re.split(r"[,;\t]", first.lower().replace('"', ""))
    if ending == ".csv" or (len(words) > 1 and {word.strip() for word in words} & set(_NAMED.split("|"))):
        return lines.read_csv(text, rules)
    return lines.read_lines(text, ending, rules)


def _read_json(data: Any) -> RawNetwork:
    if not isinstance(data, dict):
        raise FileFormatError(f'expected {{"nodes": ..., "links": ...}}, not {ours.format_value(data)}')
    if "gpus_per_node" in data:
        return tools.read_taccl(data)
    if "TopologyParams" in data:
        return tools.refuse_teccl(data)
    nodes, links = data.get("nodes"), data.get("links", data.get("edges"))
    if "nodes" in data and not isinstance(nodes, list | str | dict):
        return ours.read_links(data)
    ends = [one for one in links if isinstance(one, dict)] if isinstance(links, list) else []
    objects = isinstance(nodes, list) and any(isinstance(one, dict) for one in nodes)
    if objects or {"directed", "multigraph", "graph"} & data.keys() or any("source" in one for one in ends[:1]):
        if "nodes" not in data:
            raise FileFormatError("not node-link data: there are no nodes")
        return graphs.read_node_link(data)
    return ours.read_fabric_fields(data)


def _read_yaml(text: str) -> RawNetwork:
    data = ours.without_lines(parse_yaml(text))
    if isinstance(data, dict) and isinstance(data.get("topology"), dict):
        return tools.read_containerlab(data)
    if isinstance(data, dict) and "npus_count" in data:
        return tools.read_astra(data)
    return ours.read_fabric_fields(data)

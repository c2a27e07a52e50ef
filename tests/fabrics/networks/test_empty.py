"""Networks without nodes, with one node or without links: every format and every command refuses them in one line."""

import json
from pathlib import Path

import networkx as nx
import pytest

from tests.conftest import few
from topodesign.cli.main import run

FORMATS = ["gml", "graphml", "gexf", "net", "adjlist", "json", "dot", "csv", "edges", "mtx", "yaml"]
COMMANDS = [
    "evaluate F", "optimum F", "schedule F -o o.npz", "groups F --group 0,1", "uneven F --matrix zipf:1.2", "methods F",
    "compile F -o o.xml", "run F", "links F", "fabric F -o o.yaml", "report F -o o.html", "plot structure F -o o.svg",
    "plot cut F -o o.svg", "plot distances F -o o.svg", "compile F --for all -o set", "optimum F --failures",
]  # fmt: skip


def write_network(path: Path, nodes: int) -> None:
    """Write a network of no node, or of one without links, in the format of the ending."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(nodes))
    form = path.suffix.removeprefix(".")
    writers = {"gml": nx.write_gml, "graphml": nx.write_graphml, "gexf": nx.write_gexf, "net": nx.write_pajek}
    if form in writers:
        writers[form](graph, path)
        return
    texts = {
        "adjlist": "0\n" * nodes,
        "json": json.dumps(nx.node_link_data(graph, edges="links")),
        "dot": f"digraph {{{'0;' * nodes}}}",
        "csv": "src,dst\n" + "0,0\n" * nodes,
        "edges": "0 0\n" * nodes,
        "mtx": "%%MatrixMarket matrix coordinate integer general\n1 1 0\n",
        "yaml": f"name: x\nnodes: {['a'] * nodes}\nlinks: []\n",
    }
    path.write_text(texts[form], encoding="utf-8")


@pytest.mark.parametrize("command", few(COMMANDS, 6))
def test_networks_with_nothing_to_send_over_are_refused(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for form in FORMATS:
        for nodes in (0, 1):
            write_network(Path(f"n{nodes}.{form}"), nodes)
            assert run(command.replace("F", f"n{nodes}.{form}", 1).split()) == 2, (form, nodes)
            printed = capfd.readouterr()
            assert not printed.out
            assert printed.err.count("\n") == 1, printed.err

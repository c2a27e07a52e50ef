"""Matrices of traffic: what is drawn adds up and is the same every time, and files say the line of what is wrong."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.fabrics.fabric import Fabric, FabricLink
from topodesign.fabrics.places import as_fabric
from topodesign.pricing.traffic_matrix import as_demand, traffic_table


def drawn(value: Any, nodes: int, **options: Any) -> Any:
    return as_demand(value, as_fabric(f"complete({nodes})"), **options).amounts


@pytest.mark.parametrize(("name", "each"), [("zipf:0", 1), ("zipf:1.5", 1), ("dirichlet:0.2", 1), ("top3:1.2", 3)])
def test_every_node_draws_all_its_tokens(name: str, each: int) -> None:
    matrix = drawn(name, 12, tokens=500, seed=3)
    sent = matrix.sum(axis=1)
    assert (sent <= 500 * each).all()  # what a node has for itself does not count
    assert (matrix <= 500).all()  # the experts of a token are different ones
    assert (sent >= 500 * (each - 1)).all()
    assert (matrix == drawn(name, 12, tokens=500, seed=3)).all()
    assert (matrix != drawn(name, 12, tokens=500, seed=4)).any()


def test_the_popular_are_so_with_all_of_zipf_alone() -> None:
    zipf, own = drawn("zipf:2", 8, tokens=9000), drawn("dirichlet:0.1", 8, tokens=9000)
    assert len(set(zipf.argmax(axis=1).tolist())) <= 2  # all but itself agree
    assert len(set(own.argmax(axis=1).tolist())) > 2


def test_one_of_several_experts_is_drawn_as_one() -> None:
    one, zipf = (drawn(name, 6, tokens=40_000, seed=5).sum(axis=0) for name in ("top1:1", "zipf:1"))
    assert np.allclose(sorted(one), sorted(zipf), rtol=0.05)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0,x\n1,0\n", "line 1: 'x' is no"),
        ("0,1\n1\n", "line 2: 1 numbers"),
        ("# a\n", "no numbers"),
        ("0,-1\n1,0\n", "'-1'"),
        ("src,dst,amount\n0,1,x\n", "line 2: amount"),
        ("src,dst,amount\n0,2,1\n", "line 2: no node"),
        ("src,dst,amount\n1,1,1\n", "line 2: 1 sends to itself"),
        ("src,dst,amount\n0,1,0\n", "no traffic"),
        ("src,to\n0,1\n", "dst"),
    ],
)
def test_files_say_what_is_wrong(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=words):
        drawn(path, 2)


def test_switches_send_nothing(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("src,dst,amount\nbox0/gpu0,box0/nvswitch,1\n")
    with pytest.raises(FileFormatError, match="is a switch"):
        as_demand(path, as_fabric("dgx_a100(1)"))


@pytest.mark.parametrize("value", ["top9:1", "dirichlet:0", "top2:1.2.3", np.zeros((4, 4), dtype=np.int64)])
def test_what_is_no_traffic(value: Any) -> None:
    with pytest.raises(ParameterError):
        drawn(value, 4)


def test_a_table_is_what_was_read(tmp_path: Path) -> None:
    fabric, path = as_fabric("fat_tree(2,2,2)"), tmp_path / "t.csv"
    names = [fabric.names[node] for node in fabric.compute]
    path.write_text(f"src,dst,amount\n{names[0]},{names[3]},0.25\n{names[2]},{names[1]},3\n{names[0]},{names[3]},2\n")
    found = as_demand(path, fabric)
    assert found.unit * int(found.amounts.sum()) == 5.25
    path.write_text(traffic_table(fabric, found))
    again = as_demand(path, fabric)
    assert (again.amounts == found.amounts).all()
    assert again.unit == found.unit


def test_names_that_are_formulas_are_text_to_a_spreadsheet(tmp_path: Path) -> None:
    names = ["=HYPERLINK(1)", "+a", "c"]
    links = [FabricLink(a, b, Fraction(10**9), "x") for a in names for b in names if a != b]
    fabric = Fabric.from_links("f", names, (), links)
    demand = as_demand([[0, 2, 0], [1, 0, 3], [1, 0, 0]], fabric)
    text = traffic_table(fabric, demand)
    assert all(not cell.startswith(("=", "+")) for line in text.splitlines() for cell in line.split(","))
    path = tmp_path / "t.csv"
    path.write_text(text)
    again = as_demand(path, fabric)
    assert np.argwhere(again.amounts).tolist() == np.argwhere(demand.amounts).tolist()
    assert traffic_table(fabric, again) == text

"""CPU seconds of the same work here and in libraries that can be installed beside: igraph, scipy, OR-tools.

Run it with ``python benchmarks/peers.py``. What is ours is exact and proven; linear programs of the others are floats.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

import igraph
import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, vstack
from scipy.sparse.csgraph import shortest_path

from topodesign import all_to_all, build
from topodesign.base import compiled
from topodesign.pricing.closed_form import distances, price
from topodesign.topology.topology import Topology

GRAPHS = ("randomregular(2000,4,0)", "randomregular(2000,16,0)")
FLOWS = ("randomregular(20,4,0)", "randomregular(50,4,0)")


def seconds(action: Callable[[], object]) -> float:
    start = time.process_time()
    action()
    return time.process_time() - start


def all_distances(graph: Topology) -> None:
    for node in range(graph.nodes):
        distances(graph, node)


def flow_program(graph: Topology) -> tuple[np.ndarray, csr_array, csr_array, np.ndarray]:
    """Return costs, loads (at most 0), balances and demands: flow of every source on every link, and the time."""
    nodes, links = graph.nodes, len(graph.src)
    link = np.arange(links)
    ones = np.ones(links)
    ends = csr_array((np.r_[ones, -ones], (np.r_[graph.dst, graph.src], np.r_[link, link])), shape=(nodes, links))
    rows, demand = [], []
    for source in range(nodes):
        others = np.flatnonzero(np.arange(nodes) != source)
        own = ends[others].tocoo()
        rows.append(csr_array((own.data, (own.row, own.col + source * links)), shape=(nodes - 1, nodes * links + 1)))
        demand.append(np.ones(nodes - 1))
    flow = np.arange(nodes * links)
    places = (np.r_[flow % links, link], np.r_[flow, np.full(links, nodes * links)])
    loads = csr_array((np.r_[np.ones(nodes * links), -graph.capacity.astype(float)], places))
    cost = np.zeros(nodes * links + 1)
    cost[-1] = 1
    return cost, loads, csr_array(vstack(rows)), np.concatenate(demand)


def by_ortools(graph: Topology) -> float:
    from ortools.linear_solver import pywraplp  # noqa: PLC0415  its symbols are those of highspy, too

    cost, loads, balances, demand = flow_program(graph)
    solver = pywraplp.Solver.CreateSolver("GLOP")
    columns = [solver.NumVar(0, solver.infinity(), "") for _ in cost]
    nothing = np.zeros(loads.shape[0])
    for matrix, low, high in ((loads, nothing - np.inf, nothing), (balances, demand, demand)):
        for row in range(matrix.shape[0]):
            part = slice(matrix.indptr[row], matrix.indptr[row + 1])
            bound = solver.Constraint(float(low[row]), float(high[row]))
            for column, value in zip(matrix.indices[part].tolist(), matrix.data[part].tolist(), strict=True):
                bound.SetCoefficient(columns[column], value)
    solver.Minimize(columns[-1])
    solver.Solve()
    return float(solver.Objective().Value())


def in_ortools(graph: Topology) -> float:
    by_ortools(build("randomregular(4,2,0)"))
    return seconds(partial(by_ortools, graph))


def by_scipy(graph: Topology) -> float:
    cost, loads, balances, demand = flow_program(graph)
    return float(linprog(cost, loads, np.zeros(loads.shape[0]), balances, demand, method="highs").fun)


def main() -> None:
    compiled.PATIENCE = 0.0  # machine code from the first call on
    price(build("genkautz(2,9)"), all_sources=True)
    distances(build("genkautz(2,9)"), 0)
    for text in GRAPHS:
        graph = build(text)
        edges = list(zip(graph.src.tolist(), graph.dst.tolist(), strict=True))
        theirs = igraph.Graph(n=graph.nodes, edges=edges, directed=True)
        matrix = csr_array((np.ones(len(graph.src)), (graph.src, graph.dst)), shape=(graph.nodes, graph.nodes))
        print(f"all distances of {text}")
        print(f"  here {seconds(partial(all_distances, graph)):.2f} s, with the price too", end=" ")
        print(
            f"{seconds(partial(price, graph, all_sources=True)):.2f} s; igraph {seconds(theirs.distances):.2f} s,",
            end=" ",
        )
        print(f"scipy {seconds(partial(shortest_path, matrix, unweighted=True)):.2f} s")
    for text in FLOWS:
        graph = build(text)
        print(f"all-to-all of {text}", flush=True)
        print(
            f"  here {seconds(partial(all_to_all, graph, effort='exact')):.2f} s, exact and proven;",
            end=" ",
            flush=True,
        )
        print(f"scipy (HiGHS) {seconds(partial(by_scipy, graph)):.2f} s,", end=" ", flush=True)
        with ProcessPoolExecutor(1, get_context("spawn")) as alone:
            print(f"OR-tools (GLOP) {alone.submit(in_ortools, graph).result():.2f} s")


if __name__ == "__main__":
    main()

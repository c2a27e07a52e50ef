"""Every reader of files with a file that it takes, and what kinds of wrong input its format can have.

A module that opens input files must be named here; ``test_fuzz.py`` finds those that are not.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from tests.fabrics.machines.texts import dgx_matrix, lstopo_text, nccl_text, rocm_text
from tests.fabrics.networks.test_tools import HPCC, LAB, SIMAI
from tests.samples.plans import plan_of
from tests.samples.wirings import switch_files
from topodesign.base.errors import FileFormatError
from topodesign.base.file_kinds import FileKind, kind_of
from topodesign.base.shipped import find_shipped_folder
from topodesign.catalog.all_to_all import PRICES, Bounds
from topodesign.catalog.all_to_all_rows import EXCHANGE, Exchange
from topodesign.catalog.files import file_check, get_packed_path, read_rows, write_rows
from topodesign.catalog.packing import pack_catalog
from topodesign.catalog.verify import _Progress
from topodesign.compiler.compilation import compile_plan
from topodesign.compiler.library import read_measured
from topodesign.compiler.phases import compile_phases
from topodesign.fabrics.fabric import Fabric, Shared
from topodesign.fabrics.files import FABRIC_FORMATS, read_fabric, write_fabric
from topodesign.fabrics.groups import as_groups
from topodesign.fabrics.machines.outputs import fabric_of_machine
from topodesign.fabrics.node_values import as_ready, as_shards
from topodesign.fabrics.options import MachineTool
from topodesign.fabrics.places import as_fabric
from topodesign.fabrics.presets import build_fabric
from topodesign.finder.sources import read_candidates
from topodesign.plans.files import load_plan, save_plan
from topodesign.plans.sets import INDEX, ForSizes, read_plan_set, save_plan_set
from topodesign.plans.time.workload import load_workload
from topodesign.pricing.mix import read_mix
from topodesign.pricing.traffic_matrix import as_demand
from topodesign.pricing.training.model import as_model
from topodesign.report.design.reading import read_request
from topodesign.runtime.calls import about_program
from topodesign.runtime.chakra.check import read_expected_time
from topodesign.runtime.chakra.network import read_network
from topodesign.runtime.chakra.traces import read_trace
from topodesign.runtime.check import check_file
from topodesign.runtime.jax.check import check_module_file
from topodesign.runtime.manifest import MANIFEST, read_manifest
from topodesign.runtime.msccl.parse import parse_xml
from topodesign.runtime.msccl.profiles import PROFILES
from topodesign.runtime.mscclpp.check import check_plan_file
from topodesign.runtime.mscclpp.parse import parse_plan
from topodesign.schedulers.circuits.reconfigure import reconfigure
from topodesign.schedulers.failure_plans import INDEX as FAILURES
from topodesign.schedulers.failure_plans import failure_plans, read_failures
from topodesign.schedulers.scheduling import schedule
from topodesign.search.build import Journal
from topodesign.search.tasks import Effort
from topodesign.topology.files import LinkFormat, write_links
from topodesign.topology.library import build
from topodesign.topology.link_table import read_link_table
from topodesign.wiring.bringup.bringup import bringup
from topodesign.wiring.check.cables import read_export, read_switch
from topodesign.wiring.check.observed import known_names, light_with_notes, read_dumps, read_link_tests, read_lldp
from topodesign.wiring.exports.formats.netbox import to_netbox_cables
from topodesign.wiring.exports.formats.patches import to_patches
from topodesign.wiring.inventory.files import read_inventory
from topodesign.wiring.netbox.tables import read_cables
from topodesign.wiring.parts.parts import read_parts
from topodesign.wiring.plan.files import load_wiring, plan_text
from topodesign.wiring.plan.losses import read_circuit_losses


class Reader(NamedTuple):
    """A reader.

    Attributes
    ----------
    module
        Where it is, below ``topodesign/``.
    name
        Of a file that it takes.
    sample
        Makes the content of one.
    read
        Reads one.
    """

    module: str
    name: str
    sample: Callable[[], bytes]
    read: Callable[[Path], Any]


def shipped(name: str) -> bytes:
    return (find_shipped_folder("configs") / name).read_bytes()


def plan_bytes() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        return save_plan(Path(folder) / "p.npz", schedule(RING, "allgather")).read_bytes()


def plan_set_index() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        plans = [ForSizes(schedule(RING, "allgather"), 0, 2**20, {"msccl": {"a.xml": "<algo/>"}})]
        save_plan_set(Path(folder) / "s", plans, alpha=1e-5, bandwidth=1e11)
        return (Path(folder) / "s" / INDEX).read_bytes()


def failures_index() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        failure_plans("dgx_a100(1)").save(Path(folder) / "s")
        return (Path(folder) / "s" / FAILURES).read_bytes()


def program() -> bytes:
    (content,) = compile_plan(schedule(RING, "allgather")).files.values()
    return content if isinstance(content, bytes) else content.encode()


def traces() -> Mapping[str, bytes]:
    return compile_plan(schedule(RING, "allgather"), "chakra").files


def by_phase() -> bytes:
    return compile_phases(reconfigure(4, 1, delay="0s", size="64MiB").plan).manifest.text().encode()


def execution_plan() -> bytes:
    return compile_plan(schedule("torus(2,2)", "allgather"), "mscclpp").text.encode()


def module() -> bytes:
    return compile_plan(schedule("torus(2,2)", "allgather"), "jax").text.encode()


def journal() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal"
        with Journal(path, Effort()):
            pass
        return path.read_bytes()


def rows() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        return write_rows(Path(folder), 2, read_rows(find_shipped_folder("catalog"), 2, 3, 40)).read_bytes()


def packed_rows() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder), Path(folder) / "packed"
        write_rows(source, 2, read_rows(find_shipped_folder("catalog"), 2, 3, 40))
        pack_catalog(source, target)
        return get_packed_path(target, 2).read_bytes()


def known_kind(path: Path) -> None:
    """Refuse what does not begin as a plan does."""
    if kind_of(path) is not FileKind.PLAN:
        raise FileFormatError("no plan")


def read_packed(path: Path) -> None:
    file_check(path.parent, 2)
    read_rows(path.parent, 2, 30, 30)
    read_rows(path.parent, 2)


BOUNDS = {(n, f"{n:08x}"): Bounds(Fraction(n, 3), Fraction(n, 2)) for n in range(3, 40)}
PRICED = PRICES.path(Path(), 2)


def prices() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        return PRICES.write(Path(folder), 2, BOUNDS.items()).read_bytes()


KEPT = [Exchange(n, n % 2 == 0, 3, Bounds(Fraction(n, 3), Fraction(n, 2)), f"circulant({n},1)") for n in range(3, 40)]
EXCHANGED = EXCHANGE.path(Path(), 2)


def exchange() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        return EXCHANGE.write(Path(folder), 2, KEPT).read_bytes()


PLAN = '{"name": "ours", "collective": "allreduce", "inplace": true, "gpus": [{"id": 0}, {"id": 1}]}'
LINK_ENDINGS: tuple[LinkFormat, ...] = ("json", "csv", "graphml")
RING = build("circulant(6,1,2)")
WIRING = plan_of(RING)
SWITCHED = plan_of(RING, kind="ocs")
FABRIC = build_fabric("dgx_a100(2)")
LIMITED = replace(
    build_fabric("dgx_a100_pcie(1)"),
    shared=(Shared("bus", Fraction(10**11, 3), (("box0/memory", "box0/pcie0"), ("box0/pcie0", "box0/memory"))),),
)
HEARD = "host,port,neighbour_host,neighbour_port\n" + "".join(
    f"{one.b.host},{one.b.port},{one.a.host},{one.a.port}\n" for one in WIRING.connects
)
RING_LAB = "topology:\n  links:\n" + "".join(
    f'    - endpoints: ["{one.b.host}:{one.b.port}", "{one.a.host}:{one.a.port}"]\n' for one in WIRING.connects
)
CABLED = plan_of(RING, "duplex")
NAMES = "host,port,interface,device\n" + "".join(f"*,eth{n},np{n},mlx5_{n}\n" for n in range(RING.degree))
LINK_TEST = json.dumps(
    {
        "link test": 1,
        "host": "h0",
        "heard": [[one.a.port, one.b.host, one.b.port] for one in CABLED.connects if one.a.host == "h0"],
        "problems": ["h0 eth0 has no light"],
    }
)
LIGHT = "host,port,rx_dbm\n" + "".join(f"{one.b.host},{one.b.port},-2.5\n" for one in WIRING.connects)

TOLD = "LLDP neighbors:\n" + "".join(
    f"Interface:    {one.b.port}, via: LLDP, RID: 1, Time: 0 day, 00:00:01\n"
    f"  Chassis:\n    ChassisID:    local {one.a.host}\n  Port:\n    PortID:       ifname {one.a.port}\n"
    for one in WIRING.connects
    if one.b.host == "h0"
)
MODULE = "\tReceiver signal average optical power     : 0.5734 mW / -2.42 dBm\n"

MACHINES: tuple[tuple[MachineTool, str, str], ...] = (
    ("nvidia-smi-topo", "m.txt", dgx_matrix()),
    ("nccl-topo", "m.xml", nccl_text(90, switched=True)),
    ("rocm-smi-topo", "r.txt", rocm_text(2, lambda *_: False, [0, 1])),
    ("lstopo", "l.xml", lstopo_text()),
)

GML = "graph [\n" + "".join(f"  node [\n    id {n}\n  ]\n" for n in range(3)) + "".join(
    f"  edge [\n    source {n}\n    target {(n + 1) % 3}\n    bw_gbps {n + 1}\n  ]\n" for n in range(3)
) + "]\n"  # fmt: skip
PAJEK = "*vertices 3\n1 a\n2 b\n3 c\n*edges\n1 2\n2 3\n3 1\n"


def _read_light(path: Path) -> object:
    return light_with_notes(path, known_names(WIRING))


READERS = (
    Reader("finder/sources", "candidates.txt", b"torus(4,4)\nhypercube(4)  # two\n".strip, read_candidates),
    *(
        Reader("fabrics/networks/read", f"t.{ending}", write_links(RING, ending).encode, read_fabric)
        for ending in LINK_ENDINGS
    ),
    *(
        Reader("fabrics/networks/read", f"{name}.txt", text.encode, read_fabric)
        for name, text in {"hpcc": HPCC, "simai": SIMAI, "lab": LAB, "gml": GML, "pajek": PAJEK}.items()
    ),
    *(
        Reader("fabrics/networks/read", f"{name}.{ending}", write_fabric(fabric, ending).encode, read_fabric)
        for ending in FABRIC_FORMATS
        for name, fabric in (("f", FABRIC), ("limited", LIMITED))
    ),
    Reader(
        "fabrics/node_values",
        "s.csv",
        lambda: b"node,size\n" + b"".join(b"%s,2\n" % name.encode() for name in FABRIC.names[:4]),
        lambda path: as_shards(FABRIC, str(path)),
    ),
    Reader(
        "fabrics/node_values",
        "r.csv",
        lambda: b"node,ready\n" + b"".join(b"%s,20us\n" % name.encode() for name in FABRIC.names[:4]),
        lambda path: as_ready(FABRIC, str(path)),
    ),
    Reader(
        "fabrics/groups",
        "groups.csv",
        lambda: b"node,group\n" + b"".join(b"%s,a\n" % name.encode() for name in FABRIC.names[:4]),
        lambda path: as_groups(FABRIC, path),
    ),
    *(
        Reader("fabrics/machines/outputs", name, text.encode, partial(fabric_of_machine, tool=tool))
        for tool, name, text in MACHINES
    ),
    Reader(
        "pricing/traffic_matrix",
        "traffic.csv",
        lambda: b"src,dst,amount\n0,1,2.5\n3,2,1\n",
        lambda path: as_demand(path, Fabric.from_topology(RING)),
    ),
    Reader("topology/link_table", "l.csv", lambda: b"src,dst,alpha,bandwidth\n0,1,1us,25Gbps\n", read_link_table),
    Reader("plans/time/workload", "w.csv", lambda: shipped("workload_gpt2.csv"), load_workload),
    Reader("pricing/training/model", "m.yaml", lambda: shipped("model_mixtral.yaml"), as_model),
    Reader(
        "pricing/traffic_matrix",
        "t.csv",
        lambda: b"0,3,1\n2,0,5\n1,1,0\n",
        lambda path: as_demand(path, as_fabric("complete(3)")),
    ),
    Reader(
        "compiler/library",
        "t.csv",
        lambda: b"collective,method,size,time\nallreduce,ring,1KiB,9us\nallreduce,ring,1MiB,50us\n",
        lambda path: read_measured(path, ["ring"]),
    ),
    Reader("pricing/mix", "x.yaml", lambda: shipped("workload_moe.yaml"), read_mix),
    Reader("report/design/reading", "r.yaml", lambda: shipped("request_moe200.yaml"), read_request),
    Reader("plans/archive", "p.npz", plan_bytes, load_plan),
    Reader("plans/files", "q.npz", plan_bytes, load_plan),
    Reader("plans/sets", INDEX, plan_set_index, read_plan_set),
    Reader("schedulers/failure_plans", FAILURES, failures_index, lambda path: read_failures(path.parent)),
    Reader("runtime/msccl/parse", "p.xml", program, lambda path: parse_xml(path, PROFILES["msccl"])),
    Reader("runtime/manifest", MANIFEST, by_phase, read_manifest),
    Reader("runtime/check", "c.xml", program, lambda path: check_file(path).ok),
    Reader("runtime/chakra/traces", "c.0.et", lambda: traces()["collective.0.et"], read_trace),
    Reader("runtime/calls", "p.json", execution_plan, about_program),
    Reader("runtime/chakra/network", "n.yml", lambda: traces()["network.yml"], read_network),
    Reader("runtime/chakra/check", "expected.json", lambda: traces()["expected.json"], read_expected_time),
    Reader("runtime/mscclpp/parse", "p.json", execution_plan, parse_plan),
    Reader("runtime/mscclpp/parse", "c.json", execution_plan, lambda path: check_plan_file(path).ok),
    Reader("runtime/jax/check", "m.py", module, lambda path: check_module_file(path).ok),
    Reader("base/file_kinds", "k.npz", plan_bytes, known_kind),
    Reader("catalog/files", "degree_02.tsv", rows, lambda path: read_rows(path.parent, 2)),
    Reader("catalog/packed", "degree_02.zip", packed_rows, read_packed),
    Reader("catalog/all_to_all", PRICED.name, prices, lambda path: dict(PRICES.lines(path.parent, 2, 3, 40))),
    Reader("catalog/all_to_all", EXCHANGED.name, exchange, lambda path: list(EXCHANGE.lines(path.parent, 2, 3, 40))),
    Reader("search/build", "journal", journal, lambda path: Journal(path, Effort()).__exit__(None, None, None)),
    Reader("catalog/verify", "resume", lambda: b"", lambda path: _Progress(path, how="")),
    Reader("wiring/inventory/files", "i.yaml", lambda: shipped("inventory_room1024.yaml"), read_inventory),
    Reader("wiring/parts/parts", "p.yaml", lambda: shipped("parts_neutral.yaml"), read_parts),
    Reader(
        "wiring/plan/losses",
        "t.csv",
        lambda: b"in,1,2\n1,,0.8\n2,1.1 dB,-\n",
        lambda path: read_circuit_losses(path, ["1", "2"]),
    ),
    Reader("wiring/inventory/files", "i.csv", lambda: shipped("inventory_testbed.csv"), read_inventory),
    Reader("wiring/plan/files", "w.json", lambda: plan_text(WIRING).encode(), load_wiring),
    *(
        Reader("wiring/check/lldp", f"h0.{ending}", TOLD.encode, lambda path: read_lldp(path, WIRING))
        for ending in ("txt", "lldp", "topo")
    ),
    Reader("wiring/check/light", "h0.p0.ethtool", MODULE.encode, _read_light),
    Reader("wiring/check/lldp", "o.yml", RING_LAB.encode, lambda path: read_lldp(path, WIRING)),
    Reader("wiring/check/lldp", "o.csv", HEARD.encode, lambda path: read_lldp(path, WIRING)),
    Reader(
        "wiring/check/cables",
        "P1.json",
        switch_files("sonic", SWITCHED)["P1.json"].encode,
        lambda path: read_switch(path, SWITCHED),
    ),
    Reader("wiring/inventory/interfaces", "i.csv", NAMES.encode, lambda path: bringup(CABLED, interfaces=path)),
    Reader("wiring/check/observed", "l.json", LINK_TEST.encode, lambda path: read_link_tests(path, CABLED)),
    Reader("wiring/check/observed", "light.csv", LIGHT.encode, _read_light),
    Reader("wiring/check/observed", "d.csv", HEARD.encode, lambda path: read_dumps(path.parent, WIRING)),
    Reader(
        "wiring/check/cables",
        "P1.scpi",
        switch_files("scpi", SWITCHED)["P1.scpi"].encode,
        lambda path: read_export(path.parent, SWITCHED),
    ),
    Reader("wiring/check/cables", "e.csv", to_patches(WIRING).encode, lambda path: read_export(path, WIRING)),
    Reader("wiring/check/cables", "n.csv", to_netbox_cables(WIRING).encode, lambda path: read_export(path, WIRING)),
    Reader(
        "wiring/netbox/tables",
        "c.csv",
        to_netbox_cables(WIRING).encode,
        lambda path: read_cables(path, WIRING.inventory.panel.__contains__),
    ),
)

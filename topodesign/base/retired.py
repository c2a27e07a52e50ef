"""Retired names with their successors.

Old commands, options, fields of requests and Python names are refused with one line that names the successor.
"""

from __future__ import annotations

_SLICES = "compare a slice of a TPU pod as a fabric, such as tpu_v4(4,4,8)."
_DELAYS = "ask for each delay or size; 'topodesign reconfigure --json' has the times."

COMMANDS: dict[str, str] = {
    "catalog compare": "use 'catalog diff'.",
    "catalog list": "use 'catalog status'.",
    "catalog price": "use 'catalog improve --prices-only'.",
    "compile-set": "use 'compile NETWORK --for all'.",
    "design init": "use 'design --init'.",
    "fabric": "use 'convert --as fabric'.",
    "families": "use 'info families'.",
    "frontier": "use 'schedule --algorithm exact --list'.",
    "groups": "use 'evaluate --group'.",
    "layout": "give a placement of your own with '--placement'; 'training' tries several for a training step.",
    "links": "use 'convert --as links'.",
    "methods": "use 'compare NETWORK --algorithm all', or 'info algorithms' for the list.",
    "optimum": "use 'evaluate' (--collective allgather), 'failures', 'upgrade' or 'schedule --list'.",
    "pipeline": "use 'schedule --algorithm pipeline --list'.",
    "plot boxes": "use 'evaluate -o boxes.svg --plot-kind boxes'.",
    "plot cut": "use 'evaluate -o cut.svg --plot-kind bottleneck'.",
    "plot distances": "use 'evaluate -o distances.svg --plot-kind distances'.",
    "plot frontier": "use 'pareto -o frontier.svg --plot-kind frontier'.",
    "plot loads": "use 'evaluate', whose bandwidth factor is their sum.",
    "plot matrix": "use 'evaluate -o orbits.svg --plot-kind orbits', or '--plot-kind structure'.",
    "plot orbits": "use 'evaluate -o orbits.svg --plot-kind orbits'.",
    "plot sizes": "use 'pareto -o sizes.svg --plot-kind sizes'.",
    "plot structure": "use 'evaluate -o structure.svg --plot-kind structure'.",
    "plot timeline": "use 'simulate -o timeline.svg --plot-kind timeline'.",
    "plot times": "use 'pareto -o times.svg --plot-kind times'.",
    "plot use": "use 'simulate -o use.svg --plot-kind utilization'.",
    "plot winners": "use 'pareto -o winners.svg --plot-kind construction'.",
    "plugins": "use 'info plugins'.",
    "replan": "use 'repair'.",
    "report": "use '-o FILE.html' of 'pareto', 'evaluate', 'compare' or 'simulate'.",
    "routed": "use 'compare' with a method after an at sign, such as 'torus(8,8)@swing'.",
    "routes": "use the routing engines of the subnet manager (OpenSM) or switches; 'wire export' has routes of hosts.",
    "runtimes": "use 'info runtimes'.",
    "schema": "use 'info json'.",
    "step": "use 'training'.",
    "synthesize": "use 'pareto --catalog none'.",
    "uneven": "use 'evaluate --traffic'.",
    "warm": "use 'kernels'.",
    "wire addresses": "use 'wire show --addresses'.",
    "wire apply": "write files with 'wire change -o DIR --format scpi' and check the answers with 'wire check --ocs'.",
    "wire buy": "use 'wire bill'.",
    "wire diff": "use 'wire change', whose -o DIR writes the plan, the sheets and commands of switches.",
    "wire impact": "use 'failures', or 'repair --fail PART' for one failure.",
    "wire import": "use 'wire check PLAN --export FILE'.",
    "wire loss": "use 'wire show --loss'.",
    "wire repairs": "compare failures one by one with 'repair'.",
    "wire year": "see what each failure costs with 'failures'.",
}
"""Successor of each retired command, by its words: ``routes``, ``wire apply``."""

_NODES = {
    "--only": "use --members.",
    "--others": "use --forward or --no-forward.",
    "--without": "use --fail.",
}
_ALGORITHM = {
    "--by-ranks": "use --set by-ranks=yes.",
    "--chunks": "use --set chunks=N.",
    "--fixed-k": "use --set trees=N.",
    "--method": "use --algorithm.",
    "--steps": "use --set steps=N.",
    "--unwind": "use --set unwind=yes|no.",
}
_DUPLEX = {"--bidirectional": "use --duplex."}
_CABLING = {"--cabling": "use --duplex or --simplex."}
_JOBS = {"--processes": "use --jobs."}

OPTIONS: dict[str, dict[str, str]] = {
    "catalog build": _JOBS,
    "catalog improve": _JOBS | _CABLING | {"--only": "use --strategy."},
    "catalog show": _DUPLEX,
    "catalog verify": _JOBS,
    "compare": {"--price": "use --prices."},
    "compile": _NODES
    | _ALGORITHM
    | {
        "--box": "use --set ranks-per-box=N.",
        "--channels": "use --set channels=N.",
        "--dtype": "use --set dtype=TYPE.",
        "--max-size": "use --set max-size=SIZE.",
        "--min-size": "use --set min-size=SIZE.",
        "--parts": "use --set pipeline=N.",
        "--threadblocks": "use --set threadblocks=N.",
    },
    "design --init": {"--cube": _SLICES},
    "evaluate": {
        "--all-sources": "use --set all-sources=yes.",
        "--all-to-all": "use --effort.",
        "--deferred": "use --set deferred=yes.",
        "--exact": "use --effort exact.",
        "--gap": "use --tolerance.",
        "--no-deferred": "use --set deferred=no.",
    },
    "pareto": _DUPLEX
    | {
        "--against": "use --add.",
        "--box": "use --boxes.",
        "--cube": _SLICES,
        "--grow-from": "use --near.",
        "--hop": "use 'compare --hop' for the latency of switches.",
        "--links": "use -o DIR.",
        "--no-catalog": "use --catalog none.",
        "--paper": "benchmarks/catalog_quality.py of a checkout compares with the finder of the paper.",
        "--per-port": "use --bandwidth RATE/port.",
        "--plant": "use --inventory.",
        "--runners-up": "use --top.",
        "--search": "use --time-limit.",
        "--split": "use --boxes BOX/K.",
    },
    "reconfigure": _CABLING
    | {
        "--over": _DELAYS,
        "--plant": "use --inventory.",
        "--plot": _DELAYS,
        "--time-limit": "plans are found by search, and bounds say how far they may be from the best.",
    },
    "run": _NODES | _ALGORITHM,
    "schedule": _NODES
    | _ALGORITHM
    | {
        "--no-symmetric": "use --set symmetric=no.",
        "--overlap": "use --set overlap=yes.",
        "--ready": "use --set ready=FILE.",
        "--symmetric": "use --set symmetric=yes.",
        "--tick": "use --set tick=TIME.",
        "--tries": "use --set seeds=N.",
        "--window": "plans of 'exact' search all of the time at once.",
    },
    "simulate": {"--failed-link": "use --fail 'A>B'.", "--without": "use --fail."},
    "verify": {
        **dict.fromkeys(("--interleavings", "--samples", "--seed"), "omit it: every order is decided."),
        "--wiring": "use --network.",
    },
    "wire bill": {
        "--in-stock": "use --spares for a share of every line.",
        "--optics": "give ports a budget in the inventory, which 'wire show --loss' and 'wire bill' check.",
    },
    "wire plan": {"--mode": "use --duplex or --simplex."},
}
"""Successor of each retired option, by command and option: ``{"pareto": {"--hop": ...}}``."""

FIELDS: dict[str, str] = {"cube": "give a slice of a TPU pod as one of the rivals, such as tpu_v4(4,4,8)."}
"""Successor of each retired field of a request."""

NAMES: dict[str, str] = {
    "apply_wiring": "use write_change for the commands and check_wiring(ocs=...) for the answers.",
    "audit_catalog": "use verify_catalog(by='audit').",
    "buy_cables": "use bill_wiring.",
    "compare_catalogs": "use diff_catalog.",
    "compile_set": "use compile_library(place, 'all'), or with a workload in place of all.",
    "exact_frontier": "use list_schedules(place, collective).",
    "expected_year": "use failure_impact.",
    "export_stages": "use write_change with file_format, whose directory has the commands beside the plan.",
    "find_undercut_rows": "use verify_catalog(by='plans').",
    "heard_hosts": "use hosts_from_lldp.",
    "import_wiring": "use check_wiring(plan, export=...).",
    "inventory_text": "use format_inventory.",
    "known_topologies": "use show_catalog.",
    "layout": "give a 'placement' of your own; 'price_step' tries several for a training step.",
    "merge_catalogs": "use merge_catalog.",
    "new_inventory": "use init_wiring.",
    "OrbitRounds": "use Flow, whose 'fold' says of which nodes it has the sends.",
    "OrbitTrees": "use Flow, whose 'fold' says of which nodes it has the trees.",
    "part_of": "use select_part.",
    "Paths": "use Flow, or build_paths of topodesign.plans.chunk_ops.",
    "pipeline_frontier": "use list_schedules(place, collective, method='pipeline').",
    "rank": "use pareto(nodes, degree, collective='all-to-all').",
    "rank_routed": "use 'pareto'; 'schedule' with a method such as 'swing' plans messages that pass through nodes.",
    "repair_order": "use failure_impact for each failure.",
    "replan": "use repair.",
    "rewire": "use change_wiring.",
    "routed": "use 'schedule' with a method such as 'swing', and 'simulate' with 'hop'.",
    "Rounds": "use build_steps, which makes a Flow of the same columns.",
    "Routes": "use the routing engines of the subnet manager; 'bringup' has routes of hosts.",
    "routes": "use the routing engines of the subnet manager; 'bringup' has routes of hosts.",
    "synthesize": "use 'pareto' with 'catalog=False'.",
    "throughput": "use 'optimum', whose 'bandwidth' it is.",
    "Timed": "use Flow, whose 'clock' says what its ticks mean.",
    "Together": "use Flows, which has a Flow for each collective.",
    "Trees": "use build_trees, which makes a Flow of the same columns.",
    "trace_wiring": "use show_wiring.",
    "unwind": "use replace_switches.",
    "warm": "use compile_kernels.",
    "wire": "use plan_wiring.",
    "write_change_sheets": "use write_change, which writes the sheets into a directory with the new plan.",
}
"""Successor of each retired name of the Python package."""


def describe_retired(name: str, successor: str) -> str:
    """Return the line that refuses a retired name.

    Parameters
    ----------
    name
        Words of a command, an option or a Python name, as people type it.
    successor
        Sentence that says what to use instead.

    Returns
    -------
    str
        One line.
    """
    return f"{name} was retired: {successor}"

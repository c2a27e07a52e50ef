"""Retired names with their successors; 0.32 removes this module.

Retired commands, options, fields of requests and Python names are refused with one line that names the successor.
"""

from __future__ import annotations

_SLICES = "compare a slice of a TPU pod as a fabric, such as tpu_v4(4,4,8)."
_DELAYS = "ask for each delay or size; 'topodesign reconfigure --json' has the times."

COMMANDS: dict[str, str] = {
    "layout": "give a placement of your own with '--placement'; 'training' tries several for a training step.",
    "frontier": "use 'schedule --algorithm exact --list'.",
    "pipeline": "use 'schedule --algorithm pipeline --list'.",
    "plot loads": "use 'topodesign evaluate', whose bandwidth factor is their sum.",
    "plot matrix": "use 'evaluate -o orbits.svg --plot-kind orbits', or '--plot-kind structure'.",
    "routed": "use 'compare' with a method after an at sign, such as 'torus(8,8)@swing'.",
    "routes": "use the routing engines of the subnet manager (OpenSM) or switches; 'wire export' has routes of hosts.",
    "synthesize": "use 'pareto --catalog none'.",
    "wire apply": "write files with 'wire change -o DIR --format scpi' and check the answers with 'wire check --ocs'.",
    "wire diff": "use 'wire change', whose -o DIR writes the plan, the sheets and commands of switches.",
    "wire import": "use 'wire check PLAN --export FILE'.",
    "wire repairs": "compare failures one by one with 'topodesign repair'.",
    "wire year": "see what each failure costs with 'topodesign failures'.",
}
"""Successor of each retired command, by its words: ``routes``, ``wire apply``."""

OPTIONS: dict[str, dict[str, str]] = {
    "design --init": {
        "--cube": _SLICES,
    },
    "pareto": {
        "--paper": "benchmarks/catalog_quality.py of a checkout compares with the finder of the paper.",
        "--cube": _SLICES,
        "--hop": "use 'compare --hop' for the latency of switches.",
    },
    "reconfigure": {
        "--over": _DELAYS,
        "--plot": _DELAYS,
        "--time-limit": "plans are found by search, and bounds say how far they may be from the best.",
    },
    "schedule": {
        "--window": "plans of 'exact' search all of the time at once.",
    },
    "wire bill": {
        "--in-stock": "use --spares for a share of every line.",
        "--optics": "give ports a budget in the inventory, which 'wire show --loss' and 'wire bill' check.",
    },
}
"""Successor of each retired option, by command and option: ``{"pareto": {"--hop": ...}}``."""

FIELDS: dict[str, str] = {"cube": "give a slice of a TPU pod as one of the rivals, such as tpu_v4(4,4,8)."}
"""Successor of each retired field of a request."""

RENAMED: dict[str, str] = {
    "buy_cables": "bill_wiring",
    "compare_catalogs": "diff_catalog",
    "heard_hosts": "hosts_from_lldp",
    "inventory_text": "format_inventory",
    "known_topologies": "show_catalog",
    "merge_catalogs": "merge_catalog",
    "new_inventory": "init_wiring",
    "part_of": "select_part",
    "replan": "repair",
    "rewire": "change_wiring",
    "trace_wiring": "show_wiring",
    "unwind": "replace_switches",
    "warm": "compile_kernels",
    "wire": "plan_wiring",
}
"""Today's name of each Python function that was renamed; the old one works, with a warning."""

NAMES: dict[str, str] = {
    "audit_catalog": "use verify_catalog(by='audit').",
    "find_undercut_rows": "use verify_catalog(by='plans').",
    "compile_set": "use compile_library(place, 'all'), or with a workload in place of all.",
    "layout": "give a 'placement' of your own; 'price_step' tries several for a training step.",
    "OrbitTrees": "use Flow, whose 'fold' says of which nodes it has the trees.",
    "Paths": "use Flow, or flow_of_paths of topodesign.plans.chunk_ops.",
    "OrbitRounds": "use Flow, whose 'fold' says of which nodes it has the sends.",
    "Routes": "use the routing engines of the subnet manager; 'bringup' has routes of hosts.",
    "apply_wiring": "use write_change for the commands and check_wiring(ocs=...) for the answers.",
    "exact_frontier": "use list_schedules(place, collective).",
    "expected_year": "use failure_impact.",
    "export_stages": "use write_change with file_format, whose directory has the commands beside the plan.",
    "import_wiring": "use check_wiring(plan, export=...).",
    "pipeline_frontier": "use list_schedules(place, collective, method='pipeline').",
    "rank": "use pareto(nodes, degree, collective='all-to-all').",
    "rank_routed": "use 'pareto'; 'schedule' with a method such as 'swing' plans messages that pass through nodes.",
    "repair_order": "use failure_impact for each failure.",
    "routed": "use 'schedule' with a method such as 'swing', and 'simulate' with 'hop'.",
    "routes": "use the routing engines of the subnet manager; 'bringup' has routes of hosts.",
    "Timed": "use Flow, whose 'clock' says what its ticks mean.",
    "Together": "use Flows, which has a Flow for each collective.",
    "throughput": "use 'optimum', whose 'bandwidth' it is.",
    "synthesize": "use 'pareto' with 'catalog=False'.",
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
    return f"{name} was retired after 0.27: {successor}"

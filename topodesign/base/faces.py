"""Commands and functions that do the same under different names: both faces know both."""

FUNCTIONS = {
    "catalog build": "build_catalog",
    "catalog compare": "compare_catalogs",
    "catalog improve": "improve_catalog",
    "catalog merge": "merge_catalogs",
    "catalog price": "price_catalog",
    "catalog show": "known_topologies",
    "catalog verify": "verify_catalog",
    "compile": "compile_plan",
    "fabric": "write_fabric",
    "groups": "price_groups",
    "links": "write_links",
    "methods": "compare_methods",
    "report": "report_page",
    "run": "run_plan",
    "runtimes": "runtime_rules",
    "schema": "json_schema",
    "step": "compare_steps",
    "uneven": "price_uneven",
    "wire change": "rewire",
    "wire check": "check_wiring",
    "wire export": "export_wiring",
    "wire impact": "failure_impact",
    "wire init": "new_inventory",
    "wire plan": "wire",
    "wire show": "trace_wiring",
}
"""The function of each command whose words are not its name. Its name, with hyphens, calls the command, too."""
COMMANDS = {function.replace("_", "-"): command for command, function in FUNCTIONS.items() if function != "wire"}
"""The other way round, in the spelling of the command line."""

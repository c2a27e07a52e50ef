"""Commands and functions of the same capability under different names."""

FUNCTIONS = {
    "catalog build": "build_catalog",
    "catalog diff": "compare_catalogs",
    "catalog improve": "improve_catalog",
    "catalog merge": "merge_catalogs",
    "catalog show": "show_catalog",
    "catalog verify": "verify_catalog",
    "compile": "compile_plan",
    "failures": "single_failures",
    "kernels": "warm",
    "repair": "replan",
    "run": "run_plan",
    "training": "compare_steps",
    "wire bill": "buy_cables",
    "wire change": "rewire",
    "wire check": "check_wiring",
    "wire export": "export_wiring",
    "wire init": "new_inventory",
    "wire plan": "wire",
    "wire show": "trace_wiring",
}
"""The function of each command whose words are not its name. Its name, with hyphens, calls the command, too."""
COMMANDS = {function.replace("_", "-"): command for command, function in FUNCTIONS.items() if function != "wire"}
"""The other way round, in the spelling of the command line."""

"""Checks of programs of any form."""

from __future__ import annotations

from pathlib import Path

from topodesign.base.arguments import as_path
from topodesign.base.text_files import begins_as_json, begins_as_module
from topodesign.runtime.jax.check import ModuleReport, check_module_file
from topodesign.runtime.msccl.check import CheckReport, check_program
from topodesign.runtime.msccl.parse import XmlError, parse_xml, read_text
from topodesign.runtime.msccl.profiles import get_profile
from topodesign.runtime.mscclpp.check import PlanReport, check_plan_file
from topodesign.runtime.report import Finding


def check_file(
    path: str | Path,
    runtime: str = "msccl",
    *,
    root: int | None = None,
) -> CheckReport | ModuleReport | PlanReport:
    """Check MSCCL XML, an MSCCL++ plan or a JAX module.

    Parameters
    ----------
    path
        Which of them it is, its first sign tells.
    runtime
        Whose rules an XML file has to keep.
    root
        Root of a collective that has one; None finds it out.

    Raises
    ------
    FileFormatError
        If the file cannot be read at all.
    ParameterError
        If the runtime or the root is unknown.

    Examples
    --------
    >>> from topodesign import check_file, compile_plan, schedule
    >>> paths = compile_plan(schedule("biring(2,4)")).save("ring.xml")
    >>> check_file("ring.xml").ok
    True
    """
    profile, place = get_profile(runtime), as_path(path)
    if begins_as_json(place):
        return check_plan_file(place, root=root)
    if begins_as_module(place):
        return check_module_file(place)
    text = read_text(place)
    try:
        program = parse_xml(text, profile)
    except XmlError as error:
        return CheckReport("illegal", (Finding("illegal", str(error)),), runtime=profile.name)
    return check_program(program, profile, root=root)

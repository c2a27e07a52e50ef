"""From a spec to the topology it names."""

from __future__ import annotations

import difflib

from topodesign.algebra.groups import GROUPS
from topodesign.base.errors import ParameterError, SpecError, TopologyError
from topodesign.base.spec import Spec, parse
from topodesign.expand import EXPANSIONS, lift
from topodesign.expand.expansion import Expansion
from topodesign.graphs import FAMILIES
from topodesign.topology.family import Family
from topodesign.topology.topology import Topology

_ENTRIES: tuple[Family | Expansion, ...] = (*FAMILIES, *EXPANSIONS)
LIBRARY = {entry.name: entry for entry in _ENTRIES}
"""Every generator and expansion by its name in a spec."""


def build(spec: Spec | str) -> Topology:
    """Build the topology that a spec names.

    Parameters
    ----------
    spec
        Text such as ``line(power(diamond(),2),2)``, or a parsed spec.

    Returns
    -------
    Topology
        With ``build(str(topology.spec)) == topology``; the same spec gives the same links on every machine.

    Raises
    ------
    SpecError
        If the text is no spec, a name is unknown, or arguments do not fit; it points at the character.
    """
    text = spec if isinstance(spec, str) else str(spec)
    return _build(parse(text), text)


def _build(spec: Spec, text: str) -> Topology:
    entry = LIBRARY.get(spec.name)
    if entry is None:
        raise SpecError(_unknown(spec.name), text, spec.position)
    args: list[int | Spec | Topology] = []
    for argument in spec.args:
        if isinstance(argument, int) or isinstance(entry, Family) or (entry is lift and argument.name in GROUPS):
            args.append(argument)
        else:
            args.append(_build(argument, text))
    try:
        return entry(*args)  # type: ignore[arg-type]
    except (ParameterError, TopologyError) as error:
        raise SpecError(f"{spec.name}: {error}", text, spec.position) from None


def _unknown(name: str) -> str:
    if name in GROUPS:
        return f"'{name}' is a group, not a topology; write cayley({name}(...),element,...)"
    close = difflib.get_close_matches(name.lower(), LIBRARY, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(close)}?" if close else f"known are {', '.join(sorted(LIBRARY))}"
    return f"unknown topology '{name}'; {hint}"

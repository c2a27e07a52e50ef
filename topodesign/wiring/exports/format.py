"""What an export format says of itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.switches.switch import SwitchStyle

Content: TypeAlias = str | bytes | dict[str, Any]
"""Of a file; or of the files of a directory by their names, each text, bytes or what writes it at a path."""


class Format(NamedTuple):
    """A format.

    ``commands``: makes the content instead where a style of commands is asked for; None if it has no commands.
    ``linked``: make the content instead where it shall lead to the address of a work package, by the ending of the
    path. ``notes``: says in words what of the plan is not in it; None if there is never anything to say. ``others``:
    make the content instead where the path has one of these endings. ``settled``: makes the content and the notes
    instead with :class:`BringupOptions`; None if it takes none.
    """

    summary: str  # what it is, for the help text
    write: Callable[[WiringPlan], Content]  # makes its content of a plan
    commands: Callable[[WiringPlan, SwitchStyle], Content] | None = None
    others: Mapping[str, Callable[[WiringPlan], Content]] = {}
    linked: Mapping[str, Callable[[WiringPlan, str], Content]] = {}
    notes: Callable[[WiringPlan], tuple[str, ...]] | None = None
    settled: Callable[..., tuple[Content, tuple[str, ...]]] | None = None

"""Apply a plan to circuit switches."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

from topodesign.base import doors
from topodesign.base.arguments import as_path
from topodesign.base.declared import key
from topodesign.base.errors import ParameterError
from topodesign.base.options import read, takes
from topodesign.base.records import TextResult
from topodesign.wiring.plan.files import WiringLike, as_wiring, plan_text
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.switches.devices import Device, Journal, Past, Patience, Side, read_journal
from topodesign.wiring.switches.drivers import as_address
from topodesign.wiring.switches.engine import Outcome, Work
from topodesign.wiring.switches.options import ApplyOptions
from topodesign.wiring.switches.steps import Difference, Step, difference, find_steps, wanted_circuits
from topodesign.wiring.switches.switch import Access, Address, Pair, SwitchError, listed_pairs, pair_name

_WORDS: dict[Outcome, str] = {
    "nothing to do": "the switches make the circuits of the plan; nothing has to change",
    "dry run": "nothing was changed: this was a dry run",
    "applied": "applied: the switches make the circuits of the plan",
    "rolled back": "rolled back: what was changed is undone",
    "stopped": "stopped: the plan is not in the switches",
}


@dataclass(frozen=True)
class SwitchState:
    """A switch afterwards."""

    name: str  # its name
    address: str  # where it is
    difference: Difference  # what the plan changes in it, as it was before
    circuits: frozenset[Pair]  # what it was last read to have
    unknown: frozenset[Side]  # sides of ports of which that may not be true any more, as commands named them since
    gone: str | None  # why it does not answer; None if it does

    KEYS = (
        "switch=name address",
        key(
            "circuits",
            "What it was last read to have, such as 1A-2B.",
            kind=tuple[str, ...],
            value=lambda one: [*map(pair_name, sorted(one.circuits))],
        ),
        key(
            "unknown",
            "Sides of ports of which that may not be true any more, such as 1A.",
            kind=tuple[str, ...],
            value=lambda one: [f"{number}{side}" for side, number in sorted(one.unknown)],
        ),
        key("gone", "Why it does not answer any more; null if it does."),
    )


@dataclass(frozen=True, repr=False)
class Applied(TextResult):
    """What became of a plan in the switches."""

    outcome: Outcome  # how it ended; ``stopped`` if the plan is neither in the switches nor out of them again
    steps: tuple[Step, ...]  # what goes and comes in each stage
    done: int  # stages that are done and checked
    switches: tuple[SwitchState, ...]  # as they are now
    notes: tuple[str, ...]  # what went otherwise than hoped, in words
    journal: Path | None  # where it is written what was read and sent; None if nothing was to be sent

    KEYS = "outcome known done stages=steps switches notes journal"

    @property
    def ok(self) -> bool:
        """Whether the switches make the circuits of the plan."""
        return self.outcome in {"nothing to do", "applied"}

    @property
    def known(self) -> bool:
        """Whether the circuits of all switches are known."""
        return not any(state.unknown or state.gone for state in self.switches)

    def to_records(self) -> list[dict[str, Any]]:
        """Return a row a circuit that goes or comes, by stage."""
        return [
            {"stage": number, "switch": name, "do": word, "circuit": pair_name(pair)}
            for number, step in enumerate(self.steps, start=1)
            for word, part in (("remove", step.removed), ("add", step.made))
            for name, pairs in part.items()
            for pair in sorted(pairs)
        ]

    def heading(self) -> str:
        """Return how it ended."""
        return _WORDS[self.outcome]

    def __str__(self) -> str:
        lines = [line for state in self.switches for line in _difference(state)]
        for number, step in enumerate(self.steps, start=1):
            dark = f"; a host has at most {step.dark} dark link{'' if step.dark == 1 else 's'}" if step.dark else ""
            lines += ["", f"stage {number} of {len(self.steps)}{dark}"]
            lines += [
                f"  {name}: {word} {listed_pairs(pairs)}"
                for word, part in (("remove", step.removed), ("add", step.made))
                for name, pairs in part.items()
                if pairs
            ]
        lines += ["", *self.notes] if self.notes else []
        lines += ["", self.heading()]
        if self.outcome in {"rolled back", "stopped"}:
            lines += [line for state in self.switches for line in _now(state)]
        return "\n".join(lines)


def _difference(state: SwitchState) -> list[str]:
    found = state.difference
    goes, stays = len(found.stale | found.in_the_way), len(found.wanted & found.there)
    come = len(found.wanted) - stays
    lines = [f"switch {state.name} ({state.address}): {stays} circuits stay, {goes} go, {come} come"]
    if found.in_the_way:
        lines.append(f"  in the way, and not of the plan's ports: {listed_pairs(found.in_the_way)}")
    if found.left:
        lines.append(f"  left alone, as not of the plan's ports: {listed_pairs(found.left)}")
    return lines


def _now(state: SwitchState) -> list[str]:
    lines = [f"  {state.name}: {listed_pairs(state.circuits) or 'no circuits'}"]
    if state.gone is not None:
        lines[0] = f"{lines[0]} (last read; it does not answer any more: {state.gone})"
    if state.unknown:
        sides = ", ".join(f"{number}{side}" for side, number in sorted(state.unknown, key=lambda x: (x[1], x[0])))
        lines.append(f"  {state.name}: unknown, since commands were sent after that: {sides}")
    return lines


@takes(ApplyOptions)
def apply_wiring(
    plan: WiringLike,
    switches: Mapping[str, str],
    *,
    dry_run: bool = True,
    progress: Callable[[float], None] | None = None,
    **options: Unpack[ApplyOptions],
) -> Applied:
    """Read what circuits switches have, and make them those of a plan, stage by stage.

    After every stage the switches are read, and what did not take effect is sent again. If a stage fails, what was done
    is undone. What others changed meanwhile is left as it is.

    Parameters
    ----------
    plan
        A plan, or the path of its file.
    switches
        Addresses of the plan's circuit switches by name, such as ``scpi://10.0.0.5`` or ``sonic://admin@ocs2``; those
        that are not named are left alone. Keys are those of the user or an agent; a password is taken from the
        variable ``TOPODESIGN_SWITCH_PASSWORD`` of the environment.
    dry_run
        Read and compare, and change nothing.
    progress
        Told the share that is done.
    **options
        As :class:`~topodesign.wiring.switches.options.ApplyOptions` says.

    Raises
    ------
    ParameterError
        If a switch is not one of the plan, or an argument is out of range.
    SwitchError
        If a switch cannot be read in the first place; nothing was sent to any then.
    MissingLibraryError
        If a switch with SONiC is named and paramiko is not installed.
    InfeasibleError
        If no order of the stages is found.
    SpecError, FileFormatError
        If the plan or the journal cannot be read, or the journal cannot be written.

    Examples
    --------
    >>> from topodesign import plain_inventory, wire
    >>> plan = wire("circulant(6,1,2)", plain_inventory(6, 4))
    >>> apply_wiring(plan, {"panel": "scpi://10.0.0.5"})
    Traceback (most recent call last):
    topodesign.base.errors.ParameterError: 'panel' is no circuit switch of the plan; it has none
    """
    wiring, asked = as_wiring(plan), read(ApplyOptions, options, "apply_wiring")
    addresses = _addresses(wiring, switches)
    wanted = wanted_circuits(wiring, addresses)
    journal, hosts = (None if asked[name] is None else as_path(asked[name]) for name in ("journal", "known_hosts"))
    access = Access(float(asked["timeout"]), asked["spelling"], hosts)
    trying = Patience(float(asked["patience"]), float(asked["pause"]))
    digest = hashlib.sha256(plan_text(wiring).encode()).hexdigest()
    past = _past(journal, digest, resume=asked["resume"])
    with ExitStack() as stack:
        devices = {}
        for name, address in addresses.items():
            devices[name] = Device(name, doors.DRIVERS[address.scheme].connect(address, access), Journal(), trying)
            stack.callback(devices[name].close)
        for name, device in devices.items():
            if not device.look():
                raise SwitchError(f"switch '{name}' cannot be read, and nothing was changed: {device.gone}")
        found = {
            name: difference(wiring, name, wanted[name], device.circuits, only=asked["only"])
            for name, device in devices.items()
        }
        steps = find_steps(wiring, found, most_dark=None if asked["downtime"] else asked["most_dark"])
        notes = [*_remembered(past, devices), *_not_asked(wiring, addresses)]
        log = Journal(journal if steps and not dry_run else None)
        stack.callback(log.close)
        log.began(digest, {name: str(address) for name, address in addresses.items()}, len(steps))
        for name, device in devices.items():
            device.journal = log
            log.read(name, device.circuits)
        work = Work(devices, wanted, log, trying.attempts)
        outcome: Outcome = "dry run" if steps else "nothing to do"
        if steps and not dry_run:
            outcome = work.carry_out(steps, asked["rollback"], progress or (lambda _: None))
            log.ended(outcome)
    states = tuple(
        SwitchState(name, str(addresses[name]), found[name], device.circuits, frozenset(device.doubtful), device.gone)
        for name, device in devices.items()
    )
    return Applied(outcome, steps, work.done, states, (*notes, *work.notes), journal if log.written else None)


def _addresses(plan: WiringPlan, switches: Mapping[str, str]) -> dict[str, Address]:
    known = list(plan.inventory.switches)
    if not switches:
        raise ParameterError("name at least one switch and its address")
    for name in switches:
        if name not in known:
            raise ParameterError(
                f"'{name}' is no circuit switch of the plan; it has {', '.join(known[:12]) if known else 'none'}"
            )
    return {name: as_address(address) for name, address in switches.items()}


def _past(path: Path | None, digest: str, *, resume: bool) -> Past | None:
    if resume and path is None:
        raise ParameterError("to go on, name the journal of what was ended")
    if path is None or not (resume or path.exists()):
        return None
    past = read_journal(path)
    if resume and past.plan != digest:
        raise ParameterError(f"{path} is the journal of another plan")
    if past.outcome is None and not resume:
        raise ParameterError(f"{path} is the journal of an apply that did not end; resume it, or name another file")
    return past if resume else None


def _remembered(past: Past | None, devices: Mapping[str, Device]) -> list[str]:
    """Return in words what a journal knows, beside what was read now."""
    if past is None:
        return []
    state = "did not end" if past.outcome is None else f"ended as '{past.outcome}'"
    lines = [f"the apply of {past.began} {state}, {past.done} of {past.stages} stages checked"]
    for name, known in past.switches.items():
        if name not in devices:
            continue
        lines += [
            f"  {name}: sent after the last reading: {word} {listed_pairs(pairs)}"
            for sent in known.sent
            for word, pairs in (("remove", sent.remove), ("add", sent.add))
            if pairs
        ]
        named = frozenset(pair for sent in known.sent for pair in sent.remove | sent.add)
        others = (known.last ^ devices[name].circuits) - named
        if others:
            lines.append(f"  {name}: changed by somebody else since: {listed_pairs(others)}")
    return lines


def _not_asked(plan: WiringPlan, addresses: Mapping[str, Address]) -> list[str]:
    used = {connect.a.panel for connect in plan.connects}
    return [
        f"switch '{panel.name}' has no address and is left alone"
        for panel in plan.inventory.panels
        if panel.kind == "ocs" and panel.name in used and panel.name not in addresses
    ]

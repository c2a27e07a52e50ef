"""Apply a plan to circuit switches."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

from topodesign.base import doors
from topodesign.base.arguments import as_choice, as_integer, as_path
from topodesign.base.errors import ParameterError
from topodesign.base.units import Quantity, as_time
from topodesign.wiring.apply.applied import Applied, Outcome, SwitchState
from topodesign.wiring.apply.devices import Device, Patience
from topodesign.wiring.apply.engine import ROLLBACKS, Rollback, Work
from topodesign.wiring.apply.journal import Journal, Past, read_journal
from topodesign.wiring.apply.scpi import ScpiSwitch
from topodesign.wiring.apply.sonic import SonicSwitch
from topodesign.wiring.apply.steps import Difference, difference, find_steps, wanted_circuits
from topodesign.wiring.apply.switches import Access, Address, Switch, SwitchError, as_address
from topodesign.wiring.exports.switch_commands import SPELLINGS, Spelling, listed_pairs
from topodesign.wiring.plan.files import WiringLike, as_wiring, plan_text
from topodesign.wiring.plan.plan import WiringPlan

DRIVERS = {"scpi": ScpiSwitch, "sonic": SonicSwitch}
"""Connections to switches by the scheme of their addresses; one of another package says its usual ``port``."""


def apply_wiring(
    plan: WiringLike,
    switches: Mapping[str, str],
    *,
    dry_run: bool = True,
    only: bool = False,
    most_dark: int = 1,
    downtime: bool = False,
    rollback: Rollback = "all",
    journal: str | Path | None = None,
    resume: bool = False,
    spelling: Spelling = "ocs",
    timeout: Quantity = "10s",
    patience: Quantity = "60s",
    pause: Quantity = "0.5s",
    known_hosts: str | Path | None = None,
    progress: Callable[[float], None] | None = None,
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
    only
        Remove all that is not of the plan, also between ports that it cables to no host.
    most_dark, downtime
        Links of a host that may be dark at a time, and whether all may be; as in ``rewire``.
    rollback
        What is undone if a stage fails: ``all`` stages, that ``stage``, or ``none``.
    journal
        File to note what is read and sent before it is sent, after what is in it already. None for no such file.
    resume
        Go on after an apply that did not end, of which that file is the journal.
    spelling
        Of SONiC's commands: ``ocs`` for ``config ocs cross-connect``, ``yang`` for ``config ocs-cross-connect``.
    timeout
        To wait for a connection and for an answer.
    patience
        To wait for a switch that does not answer any more, before its state is called unknown.
    pause
        Between two readings that have to agree.
    known_hosts
        File with the keys of SONiC switches; None for that of the user.
    progress
        Told the share that is done.

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
    >>> from topodesign.wiring.inventory.plain import plain_inventory
    >>> from topodesign.wiring.plan.wire import wire
    >>> plan = wire("circulant(6,1,2)", plain_inventory(6, 4))
    >>> apply_wiring(plan, {"panel": "scpi://10.0.0.5"})
    Traceback (most recent call last):
    topodesign.base.errors.ParameterError: 'panel' is no circuit switch of the plan; it has none
    """
    wiring = as_wiring(plan)
    as_choice("rollback", rollback, ROLLBACKS)
    most = None if downtime else as_integer("most_dark", most_dark, 1)
    addresses = _addresses(wiring, switches)
    wanted = wanted_circuits(wiring, addresses)
    hosts = None if known_hosts is None else as_path(known_hosts)
    access = Access(float(as_time(timeout)), as_choice("spelling", spelling, SPELLINGS), hosts)
    trying = Patience(float(as_time(patience)), float(as_time(pause)))
    digest = hashlib.sha256(plan_text(wiring).encode()).hexdigest()
    path = None if journal is None else as_path(journal)
    past = _past(path, digest, resume=resume)
    with ExitStack() as stack:
        devices = {}
        for name, address in addresses.items():
            devices[name] = Device(name, _speaking(address, access), Journal(), trying)
            stack.callback(devices[name].close)
        for name, device in devices.items():
            if not device.look():
                raise SwitchError(f"switch '{name}' cannot be read, and nothing was changed: {device.gone}")
        found = {
            name: difference(wiring, name, wanted[name], device.circuits, only=only) for name, device in devices.items()
        }
        steps = find_steps(wiring, found, most_dark=most)
        notes = [*_remembered(past, devices), *_not_asked(wiring, addresses)]
        log = Journal(path if steps and not dry_run else None)
        stack.callback(log.close)
        log.began(digest, {name: str(address) for name, address in addresses.items()}, len(steps))
        for name, device in devices.items():
            device.journal = log
            log.read(name, device.circuits)
        work = Work(devices, wanted, log, trying.attempts)
        outcome: Outcome = "dry run" if steps else "nothing to do"
        if steps and not dry_run:
            outcome = work.carry_out(steps, rollback, progress or (lambda _: None))
            log.ended(outcome)
    states = _states(addresses, devices, found)
    return Applied(outcome, steps, work.done, states, (*notes, *work.notes), path if log.written else None)


def _states(
    addresses: Mapping[str, Address], devices: Mapping[str, Device], found: Mapping[str, Difference]
) -> tuple[SwitchState, ...]:
    return tuple(
        SwitchState(name, str(addresses[name]), found[name], device.circuits, frozenset(device.doubtful), device.gone)
        for name, device in devices.items()
    )


def _addresses(plan: WiringPlan, switches: Mapping[str, str]) -> dict[str, Address]:
    known = [panel.name for panel in plan.inventory.panels if panel.kind == "ocs"]
    if not switches:
        raise ParameterError("name at least one switch and its address")
    for name in switches:
        if name not in known:
            raise ParameterError(
                f"'{name}' is no circuit switch of the plan; it has {', '.join(known[:12]) if known else 'none'}"
            )
    return {name: as_address(address) for name, address in switches.items()}


def _speaking(address: Address, access: Access) -> Switch:
    switch: Switch = doors.DRIVERS[address.scheme](address, access)
    return switch


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

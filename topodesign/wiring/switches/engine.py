"""Going through the stages of a change: sending, reading back, and undoing what was done where a stage fails.

Only what a reading shows counts. What did not take effect is sent again, a few times; what somebody else changed
meanwhile is left as it is, and ends the work if the plan needs the port.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from topodesign.base.errors import FileFormatError
from topodesign.wiring.switches.devices import Device, Journal, sides
from topodesign.wiring.switches.steps import Circuits, Step
from topodesign.wiring.switches.switch import Pair, SwitchError, listed_pairs

Outcome = Literal["nothing to do", "dry run", "applied", "rolled back", "stopped"]
Rollback = Literal["all", "stage", "none"]
ROLLBACKS: tuple[Rollback, ...] = get_args(Rollback)


class _Failure(Exception):  # noqa: N818  it never leaves this module
    """A stage cannot be done."""


@dataclass
class Work:
    """What is done to switches, and what happened."""

    devices: Mapping[str, Device]  # by name, all of them read
    wanted: Circuits  # circuits of the plan
    journal: Journal
    attempts: int
    notes: list[str] = field(default_factory=list)  # what went otherwise than hoped, in words, in the order it happened
    done: int = 0  # stages that are done and checked, and not undone

    def carry_out(self, steps: Sequence[Step], rollback: Rollback, progress: Callable[[float], None]) -> Outcome:
        """Do all stages, or as many as can be; return how it ended."""
        for number, step in enumerate(steps):
            progress(number / len(steps))
            try:
                self._forth(step)
            except (_Failure, FileFormatError) as failure:
                self.notes.append(f"stage {number + 1} of {len(steps)} failed: {failure}")
                return self._undo(steps, number, rollback)
            self.done = number + 1
            self.journal.stage(self.done)
        return "applied" if self._last_look() else "stopped"

    def _last_look(self) -> bool:
        """Read all switches once more; return whether they have what is wanted."""
        fine = True
        for device in self.devices.values():
            if not device.look():
                self.notes.append(f"{device.name} does not answer any more: {device.gone}")
                fine = False
                continue
            missing = self.wanted[device.name] - device.circuits
            if missing:
                self.notes.append(f"{device.name}: {listed_pairs(missing)} gone after the last stage was checked")
                fine = False
        return fine

    def _forth(self, step: Step) -> None:
        names = list(dict.fromkeys((*step.removed, *step.made)))
        for attempt in range(self.attempts):
            todo = [self._left(self.devices[name], step) for name in names]
            if not any(remove or add or unlit for remove, add, unlit in todo):
                return
            self._send([(self.devices[n], *t[:2]) for n, t in zip(names, todo, strict=True)], attempt)
        left = [f"{name} {_words(*rest)}" for name in names if any(rest := self._left(self.devices[name], step))]
        if left:
            raise _Failure(f"after {self.attempts} attempts there is still to do: {'; '.join(left)}")

    def _left(self, device: Device, step: Step) -> tuple[frozenset[Pair], frozenset[Pair], frozenset[Pair]]:
        """Return what of a stage is to be removed, to be made, and made but not tuned."""
        removed, made = (part.get(device.name, frozenset()) for part in (step.removed, step.made))
        return removed & device.circuits, made - device.circuits, made & device.unlit

    def _send(self, orders: list[tuple[Device, frozenset[Pair], frozenset[Pair]]], attempt: int) -> None:
        for device, remove, add in orders:
            try:
                device.order(remove, add)
            except SwitchError as error:
                self.notes.append(f"attempt {attempt + 1}: {error}")
        for device, remove, add in orders:
            before = device.circuits
            if not device.look():
                raise _Failure(f"{device.name} does not answer any more: {device.gone}")
            self._check_others(device, before - remove - device.circuits, device.circuits - before - add)

    def _check_others(self, device: Device, gone: frozenset[Pair], new: frozenset[Pair]) -> None:
        """Note what somebody else changed; raise _Failure if the plan needs it."""
        if not gone and not new:
            return
        wanted = self.wanted[device.name]
        words = "; ".join(f"{listed_pairs(pairs)} {verb}" for pairs, verb in ((gone, "went"), (new, "came")) if pairs)
        needed = gone & wanted or set(sides(wanted)).intersection(sides(new))
        note = f"somebody else changed {device.name}: {words}"
        if needed:
            raise _Failure(note)
        self.notes.append(note)

    def _undo(self, steps: Sequence[Step], failed: int, rollback: Rollback) -> Outcome:
        """Undo the stage that failed, and those before it if all are to be undone."""
        if rollback == "none":
            self._look_at_all()
            return "stopped"
        whole = True
        for number in range(failed, -1 if rollback == "all" else failed - 1, -1):
            whole = self._back(steps[number]) and whole
            self.done = number
        whole = self._look_at_all() and whole
        self.journal.stage(self.done)
        return "rolled back" if whole and (rollback == "all" or not failed) else "stopped"

    def _look_at_all(self) -> bool:
        """Read all switches that answered so far; return whether all do."""
        for device in self.devices.values():
            if device.gone is None and not device.look():
                self.notes.append(f"{device.name} does not answer any more: {device.gone}")
        return all(device.gone is None for device in self.devices.values())

    def _back(self, step: Step) -> bool:
        """Undo a stage in the switches that answer; return whether all of it is undone."""
        whole = True
        for name in dict.fromkeys((*step.removed, *step.made)):
            device = self.devices[name]
            whole = device.gone is None and self._back_in(device, step) and whole
        return whole

    def _back_in(self, device: Device, step: Step) -> bool:
        removed, made = (part.get(device.name, frozenset()) for part in (step.removed, step.made))
        why = ""
        if device.doubtful and not device.look():
            return False
        for _ in range(self.attempts):
            out = made & device.circuits
            taken = set(sides(device.circuits - out))
            missing = removed - device.circuits
            back = frozenset(pair for pair in missing if not taken.intersection(sides([pair])))
            if not out and not back:
                break
            try:
                device.order(out, back)
            except (SwitchError, FileFormatError) as error:
                why = f": {error}"
            if not device.look():
                self.notes.append(f"undoing: {device.name} does not answer any more: {device.gone}")
                return False
        out, missing = made & device.circuits, removed - device.circuits
        if out:
            self.notes.append(f"undoing: {device.name} still has {listed_pairs(out)}{why}")
        if missing:
            self.notes.append(f"undoing: {device.name} does not have {listed_pairs(missing)} again{why}")
        return not out and not missing


def _words(remove: frozenset[Pair], add: frozenset[Pair], unlit: frozenset[Pair]) -> str:
    parts = (("remove", remove), ("add", add), ("wait for", unlit))
    return ", ".join(f"{word} {listed_pairs(pairs)}" for word, pairs in parts if pairs)

"""A switch as it is read and commanded, and what is not known of it.

What a switch was last read to have is known; every side of a port that a command named which was sent after that is
not, whatever the switch answered, until it is read again. A reading counts if two in a row agree, so that one answer
that is out of date, or given amid a change, does not.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from topodesign.wiring.switches.journal import Journal
from topodesign.wiring.switches.switch import NoAnswerError, Pair, Reading, Switch, SwitchError

Side = tuple[str, int]  # side ``A`` or ``B`` of the port of a number


@dataclass(frozen=True)
class Patience:
    """How long to try.

    ``lost``: seconds to wait for a switch that does not answer. ``pause``: seconds between two readings, and between
    two attempts. ``attempts``: how often what did not take effect is sent.
    """

    lost: float = 60.0
    pause: float = 0.5
    attempts: int = 3


class Device:
    """A switch and what is known of it.

    ``name``: of the switch in the inventory. ``circuits``: as they were last read; none before. ``unlit``: those of
    them that the switch did not call tuned. ``doubtful``: sides named in commands that were sent since. ``journal``:
    where it is noted what is read and sent. ``gone``: why it does not answer any more; None as long as it does.
    """

    def __init__(self, name: str, switch: Switch, journal: Journal, patience: Patience) -> None:
        self.name = name
        self.circuits: frozenset[Pair] = frozenset()
        self.unlit: frozenset[Pair] = frozenset()
        self.doubtful: set[Side] = set()
        self.gone: str | None = None
        self._switch = switch
        self.journal = journal
        self._patience = patience

    def look(self) -> bool:
        """Read what is there, and return whether that could be done; if not, it is ``gone``."""
        until = time.monotonic() + self._patience.lost
        last: Reading | None = None
        why = "its answers do not agree"
        while True:
            try:
                self._switch.connect()
                found = self._switch.read()
            except SwitchError as error:
                self._switch.close()
                last, why = None, str(error)
                if not isinstance(error, NoAnswerError):
                    self.gone = why
                    return False
            else:
                if found == last:
                    break
                last = found
            if time.monotonic() > until:
                self.gone = why
                return False
            time.sleep(self._patience.pause)
        self.circuits, self.unlit, self.gone = last.circuits, last.unlit, None
        self.doubtful.clear()
        self.journal.read(self.name, self.circuits)
        return True

    def order(self, remove: Collection[Pair], add: Collection[Pair]) -> None:
        """Remove circuits, then make some."""
        for pairs, adds in ((remove, False), (add, True)):
            ordered = sorted(pairs)
            for start in range(0, len(ordered), self._switch.portion):
                some = ordered[start : start + self._switch.portion]
                try:
                    self._switch.connect()
                except SwitchError:
                    self._switch.close()
                    raise
                self.journal.sends(self.name, () if adds else some, some if adds else ())
                self.doubtful.update(sides(some))
                try:
                    (self._switch.add if adds else self._switch.remove)(some)
                except NoAnswerError:
                    self._switch.close()
                    raise

    def close(self) -> None:
        """End the connection."""
        self._switch.close()


def sides(pairs: Collection[Pair]) -> Iterator[Side]:
    """Yield the sides of ports that circuits take."""
    for a, b in pairs:
        yield "A", a
        yield "B", b

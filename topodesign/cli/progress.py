"""Progress on standard error: a bar, or lines if it is no terminal."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import click

from topodesign.base.progress import Share

_UNTIL_BAR = 0.5  # seconds that something may take before a terminal shows how far it is
_UNTIL_ESTIMATE = 2.0  # seconds after which an estimate is printed elsewhere
_WORTH_SAYING = 30.0  # seconds that must be left for that


@contextmanager
def progress_bar(text: str, *, once_told: bool = False) -> Iterator[Callable[[float], None]]:
    """Show progress on standard error.

    Yields a function that takes the finished share.

    On a terminal it is a bar with an estimate, from half a second on; as long as no share is known it moves to and fro.
    With ``once_told`` there is none before a share is known: what may be looked up is not always work. Elsewhere it is
    one line with an estimate, where the work takes long.
    """
    if not sys.stderr.isatty():
        yield _Estimate(text).tell
        return
    bar = _Bar(text)
    if not once_told:
        bar.begin()
    try:
        yield bar.tell
    finally:
        bar.end()


class _Estimate:
    """Says once about how long something takes, if that is long."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._start: tuple[float, float] | None = None
        self._said = False

    def tell(self, share: float) -> None:
        """Take the share done."""
        now = time.monotonic()
        if self._start is None:  # what was before, such as compiling, is not repeated
            self._start = now, share
        spent, done = now - self._start[0], share - self._start[1]
        if self._said or spent < _UNTIL_ESTIMATE or done <= 0:
            return
        self._said = True
        left = spent * (1 - share) / done
        if left > _WORTH_SAYING:
            words = f", {share.words}" if isinstance(share, Share) else ""
            click.echo(f"topodesign: {self._text}: about {_span(left)} left{words}", err=True)


class _Bar:
    """A bar that appears only if the work takes some time."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._share: float | None = None
        self._show: Callable[[], None] | None = None
        self._close: Callable[[], None] | None = None
        self._lock = threading.Lock()
        self._ended = False
        self._timer = threading.Timer(_UNTIL_BAR, self._open)
        self._timer.daemon = True
        self._begun = False

    def begin(self) -> None:
        """Let the bar appear after a while."""
        self._begun = True
        with suppress(RuntimeError):  # no more threads are to be had
            self._timer.start()

    def tell(self, share: float) -> None:
        """Take the share done."""
        self._share = share
        if not self._begun:
            self.begin()
        if self._show is not None:
            self._show()

    def end(self) -> None:
        """Take the bar away."""
        self._timer.cancel()
        with self._lock:
            self._ended = True
            if self._close is not None:
                self._close()

    def _open(self) -> None:
        from rich.console import Console  # noqa: PLC0415  only for people
        from rich.progress import Progress  # noqa: PLC0415

        with self._lock:
            if self._ended:
                return
            bar = Progress(console=Console(stderr=True), transient=True)
            task = bar.add_task(self._text, total=None)

            def show() -> None:
                if self._share is not None:
                    words = [self._text, *([self._share.words] if isinstance(self._share, Share) else [])]
                    bar.update(task, completed=self._share, total=1.0, description=", ".join(words))

            with suppress(RuntimeError):
                bar.start()
                self._show, self._close = show, bar.stop


def _span(seconds: float) -> str:
    """Format a remaining time in its two largest units."""
    for unit, name in ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds:.0f} seconds"

"""Drivers of all kinds of circuit switches."""

from __future__ import annotations

from topodesign.base.entry_points import load_declared
from topodesign.wiring.switches import kinds
from topodesign.wiring.switches.switch import Driver

DRIVERS: dict[str, Driver] = {driver.name: driver for driver in load_declared(kinds.__name__, "DRIVER", kinds.FORMATS)}
"""By name: what each module of ``kinds`` declares as its ``DRIVER``."""

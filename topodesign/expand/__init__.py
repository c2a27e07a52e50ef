"""Expansions: one a file, with the graph map, the closed-form cost and the schedule lift side by side.

To add one, copy the pattern of :mod:`topodesign.expand.line` into a new file and list it here.
"""

from topodesign.expand.bidirect import bidirect
from topodesign.expand.degree import degree
from topodesign.expand.delete import delete
from topodesign.expand.expansion import Expansion
from topodesign.expand.insert import insert
from topodesign.expand.line import line
from topodesign.expand.parallel import parallel
from topodesign.expand.power import power
from topodesign.expand.product import product
from topodesign.expand.swap import swap
from topodesign.expand.transpose import transpose
from topodesign.expand.voltage import lift

EXPANSIONS: tuple[Expansion, ...] = (
    bidirect, degree, delete, insert, lift, line, parallel, power, product, swap, transpose,
)  # fmt: skip

__all__ = [
    "EXPANSIONS", "bidirect", "degree", "delete", "insert", "lift", "line", "parallel", "power", "product", "swap",
    "transpose",
]  # fmt: skip

"""Expansions: one a file, with the graph map, the closed-form cost and the schedule lift side by side.

To add one, copy the pattern of :mod:`topodesign.expand.line` into a new file and list it here.
"""

from topodesign.expand.bidirect import bidirect
from topodesign.expand.degree import degree
from topodesign.expand.expansion import Expansion
from topodesign.expand.line import line
from topodesign.expand.parallel import parallel
from topodesign.expand.power import power
from topodesign.expand.product import product
from topodesign.expand.transpose import transpose

EXPANSIONS: tuple[Expansion, ...] = (bidirect, degree, line, parallel, power, product, transpose)

__all__ = ["EXPANSIONS", "bidirect", "degree", "line", "parallel", "power", "product", "transpose"]

"""One reader for every network file, and for graphs of other libraries.

Three steps, one module each: ``read`` finds the format by content and ``lines``, ``graphs``, ``tools`` and ``ours``
turn it into a :class:`~topodesign.fabrics.networks.raw.RawNetwork`, whose attributes have the names that the file gives
them; ``meaning`` decides what those attributes mean, or refuses the file; ``network`` is the result, which makes a
topology or a fabric. To add a format, write a function from text to a raw network and list it in ``FORMATS`` of
``read``.
"""

from topodesign.fabrics.networks.graphs import is_graph
from topodesign.fabrics.networks.network import Network
from topodesign.fabrics.networks.read import names_file, read_network, reading

__all__ = ["Network", "is_graph", "names_file", "read_network", "reading"]

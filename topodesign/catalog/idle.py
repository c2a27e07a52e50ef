"""Topologies that keep a port of each node free, by a self-loop there.

Where the number of ports N*d is odd and cables are duplex one port stays free anyway, and its node is reached by d - 1
links. So N nodes of degree d - 1, of which there are symmetric ones, can have the least possible bandwidth factor, too.
"""

from __future__ import annotations

from topodesign.base.spec import Spec

_LOOP = Spec("successors", (1, 0))  # A node with a self-loop


def with_idle_ports(spec: Spec) -> Spec:
    """Return the spec of a topology with one port more at each node, which stays free."""
    return Spec("product", (spec, _LOOP))


def has_idle_ports(spec: Spec) -> bool:
    """Return whether a topology is made by :func:`with_idle_ports`."""
    return spec.name == "product" and spec.args[-1] == _LOOP

"""Products under other names: tori, meshes, hypercubes, powers.

Hamming graphs, too.
"""

from __future__ import annotations

from topodesign.base.spec import Spec
from topodesign.topology.library import build
from topodesign.topology.topology import Topology


def list_factors(spec: Spec) -> list[Spec]:
    """Return the factors of a product that a spec names.

    The fastest running coordinate comes first; other specs return themselves.
    """
    numbers = [one for one in spec.args if isinstance(one, int)]
    if spec.name in {"torus", "mesh"} and len(numbers) > 1:
        return [Spec(spec.name, (side,)) for side in numbers]
    if spec.name == "hypercube":
        return [Spec("hypercube", (1,))] * numbers[0]
    if spec.name == "hamming":
        return [Spec("complete", (numbers[1],))] * numbers[0]
    bases = [one for one in spec.args if isinstance(one, Spec)]
    if spec.name == "product":
        return [factor for base in bases for factor in list_factors(base)]
    if spec.name == "power":
        return list_factors(bases[0]) * numbers[0]
    return [spec]


def factors_of(topology: Topology) -> list[Topology]:
    """Return the factors of a product by its spec, or none.

    Each has at least two nodes.
    """
    specs = [] if topology.spec is None else list_factors(topology.spec)
    factors = [build(spec) for spec in specs] if len(specs) > 1 else []
    whole = factors and min(factor.nodes for factor in factors) > 1 and build(Spec("product", tuple(specs))) == topology
    return factors if whole else []

"""Comparison of designs with standard alternatives, all measured alike.

``everyday`` knows names such as ``fattree`` and ``jellyfish`` and builds the best of the kind for N nodes of d ports;
``contender`` makes something measurable of a name, a spec, a fabric or a plan; ``measures`` counts cables, switches,
failures survived and bounds the bisection; ``compare`` puts contenders side by side. ``methods`` compares all
schedulers on one place. Imports everything below but the compiler, runtimes and wiring. To add an everyday name, give
it a function in ``everyday``.
"""

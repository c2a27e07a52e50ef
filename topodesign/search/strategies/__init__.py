"""Strategies of improvement, one per module, selected by its name.

To add one, write a file with a :class:`~topodesign.search.strategies.strategy.Strategy` in it. Only ``deferral`` is of
another kind: it searches nothing.
"""

import pkgutil

NAMES = tuple(name.replace("_", "-") for _, name, _ in pkgutil.iter_modules(__path__) if name != "strategy")
"""What ``catalog improve --strategy`` takes, known without an import."""

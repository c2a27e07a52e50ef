"""Topology search: questions, candidates, costs and answers.

``question`` has the question: N and d, the objective, where to look and what must hold. ``candidate`` has a topology
and its price, ``sources`` where candidates come from: a new source is a function that yields candidates. ``find`` runs
the pipeline, ``pareto`` is the answer for one size, ``survey`` that for a range, ``runners_up`` the alternatives by
criterion. Sources and limits that know sites or boxes live in ``wiring/plant``, ``wiring/change`` and ``report/boxes``;
they take entries from here and return entries with a plan, moves or a box.
"""

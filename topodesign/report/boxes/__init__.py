"""Direct wiring of boxes: graphs, NIC cables and plans.

``frontier`` has :func:`topodesign.pareto_boxes`, ``candidates`` the graphs of boxes that it looks at and the search for
the cables of NICs where the inside of a box is narrow. Prices are from :mod:`topodesign.optima.boxes`, plans from
:mod:`topodesign.schedulers.boxes`.
"""

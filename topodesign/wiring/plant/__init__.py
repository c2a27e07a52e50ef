"""Topologies that an installation supports, with their circuits.

``plant`` is what there is: which lane of which host ends at which field of panels, and why a topology does not fit. One
that it carries is a sum of one table for each field, links between the lanes there: ``made`` goes through all of a
small plant and looks for symmetric ones in a large one (lifts whose voltages respect the fields).
``carry`` puts the answer together. May import ``inventory`` and ``plan``. To add a way of looking: a function from a
:class:`~topodesign.wiring.plant.plant.Plant` to :class:`~topodesign.wiring.plant.plant.PlantTopology`, and its line in
``carry``.
"""

"""Stagewise changes from existing to wanted wiring.

``change_wiring`` plans a change; ``change`` finds the fewest moves (``relabel`` which host becomes which node and how
many patches can stay at most, ``fields`` that and the panels of links together), ``patches`` their fibres and what to
do at the panels, ``stages`` the order and the way, ``strength`` what the fabric can do meanwhile; ``grow`` takes a
wiring to another room. May import ``inventory`` and ``plan``.
"""

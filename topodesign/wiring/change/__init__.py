"""Changes: from the wiring that exists to the wiring wanted, stage by stage.

``rewire`` is the door; ``change`` finds the fewest moves (``relabel`` which host becomes which node, ``fields`` that
and the panels of links together, ``kept_bound`` how many patches can stay at most, ``pairing`` the fibres), ``stages``
their order, ``instructions`` what to do at the panels, ``strength`` what the fabric can do meanwhile; ``grow`` takes a
wiring to another room. May import ``inventory`` and ``plan``.
"""

"""Kinds of circuit switches: each file declares its ``DRIVER``, as :mod:`topodesign.wiring.switches.switch` says."""

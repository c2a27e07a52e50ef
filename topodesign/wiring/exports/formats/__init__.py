"""Formats of exports: each file declares its ``FORMATS``, as :mod:`topodesign.wiring.exports.format` says."""

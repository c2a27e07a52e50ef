"""Export formats, declared as in :mod:`topodesign.wiring.exports.format`."""

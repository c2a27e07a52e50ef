"""topodesign: direct-connect network topologies for AI training, priced exactly."""

__version__ = "0.1.0"

"""The catalog: rows of the best known topologies of every size, looked up, verified, audited and merged.

:mod:`topodesign.search` builds it and makes it better.
"""

"""The catalog: best known topologies by size; look-up, audit and merge.

:mod:`topodesign.search` builds it and makes it better.
"""

"""Inventories: what there is to wire with, and their files.

``inventory`` has the values and what makes them consistent, ``files`` reads them from YAML and CSV by way of
``file_fields``, ``lengths`` says how long cables between devices are, ``plain`` makes an inventory without particulars.
Imports nothing else of the wiring. To add a field of a file: its value in ``inventory``, its reader in ``files``, its
place in plan files (``plan/files``).
"""

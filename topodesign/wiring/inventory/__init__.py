"""Inventories and their files.

``inventory`` has the values, what makes them consistent and how long cables between devices are, ``fields`` how files
say them, ``files`` reads YAML and CSV and ``text`` writes YAML; ``answers`` makes an inventory of a few
numbers. Imports nothing else of the wiring. To add a field of a file: its value in ``inventory``, its reader in
``fields``, its place in ``text`` and in plan files (``plan/files``).
"""

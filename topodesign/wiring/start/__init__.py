"""The first inventory of a room: from a few answers, from what hosts hear, or from NetBox; and as text.

``answers`` makes one of numbers, ``discover`` of LLDP dumps, ``source`` of NetBox's files or server, and ``text`` makes
any inventory a file with comments. Imports ``inventory/``, ``netbox/`` and ``check/``. To add a source: a file here
with a function that returns an inventory, and its option in the command ``wire init``.
"""

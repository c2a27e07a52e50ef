"""NetBox: inventories and cables as its objects, in its import files, its CSV exports and its REST answers.

``objects`` has the objects and what they are made of, ``model`` turns an inventory into objects and back, ``tables``
reads and writes CSV, ``rest`` asks a server. Imports nothing else of the wiring but ``inventory/``. To add a field of
an inventory: where it goes and how it is read back in ``model``, its column in ``tables`` and its key in ``rest``.
Held against NetBox 4.6.8, whose own forms took the files and whose own paths were traced.
"""

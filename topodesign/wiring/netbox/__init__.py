"""NetBox objects, import files, CSV exports and REST access.

``model`` has the objects and turns an inventory into them and back, ``tables`` reads and writes CSV, ``rest`` asks a
server, ``paths`` makes a partial net of cables. May import ``inventory`` and ``plan``. To add a field of an inventory:
where it goes and how it is read back in ``model``, its column in ``tables`` and its key in ``rest``. Held against
NetBox 4.6.8, whose own forms took the files and whose own paths were traced.
"""

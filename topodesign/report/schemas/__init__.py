"""What ``--json`` prints, as JSON Schema (2020-12): one description of the keys of every command, in one place.

* ``shapes`` are functions that return pieces of a schema: ``text``, ``fraction``, ``array``, ``record``.
* ``topologies``, ``catalogs``, ``fabrics``, ``plans``, ``pictures``, ``reports`` and ``wirings`` hold what the commands
  about them print; ``shared`` what several of them do.
* ``documents`` lists all of them, with their versions, and has :func:`topodesign.json_schema`.
* ``outline`` writes a schema for people: ``topodesign schema COMMAND``, and the page ``docs/json.md``.

A document holds no key that its schema lacks. So a new key needs a line here: find the command in the module that
``documents.SHAPES`` names, and add ``"key": shape("what it is, with its unit")``, or ``"key?"`` where it is not always
there. A new command has a row in ``documents.SHAPES`` and a name in that module. ``python -m tests.pages`` then writes
the page. A key that goes, or means something else than before, makes a new version: the number in ``SHAPES``.

This folder imports nothing heavy, and knows no values: tests hold it against what the commands print.
"""

"""JSON Schema (2020-12) of ``--json``, made of declarations of classes.

* ``documents`` lists what commands print: a class by its place, or a few keys that a command puts together itself,
  made of the functions in ``shapes``. It has :func:`topodesign.json_schema`.
* ``derived`` makes the shape of a class: its keys, types and meanings. Nothing is imported before it is asked for.
* ``outline`` writes a schema for people: ``topodesign info json COMMAND``, and the site's page of keys.

A document holds no key that its schema lacks. A new key is declared at its class; a new command has a row in
``documents.SHAPES``. A key that goes, or means something else than before, makes a new version: a number in
``documents.VERSIONS``.
"""

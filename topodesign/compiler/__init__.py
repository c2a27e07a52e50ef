"""Compiler from plans to instruction IR and target programs.

Imports plans and their verification, and the runtimes that check what comes out. ``compilation`` has it from end to
end; ``ir`` is what stands between; a back end is a file in ``backends`` and a line in its list, a front end a file in
``frontends`` and a line in ``FRONT_ENDS``.
"""

"""Report pages that open offline: their data, and the HTML made of it.

``answer``, ``topology``, ``fabric`` and ``planned`` say what there is to tell of a frontier, of a place and of a plan,
as sections of ``parts``; ``player`` turns a plan into frames, and ``details`` asks for what is made above results.
``markup`` writes them out, with the style and the script in ``assets/``, and ``plotted`` the charts, as the same
pictures that files are. To add a kind of part, give it a class in ``parts``, a function in ``markup`` and, if it moves,
one in ``assets/page.js``.
"""

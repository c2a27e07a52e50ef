"""Cable parts for a plan: choice, cost and optical loss.

``parts`` reads the list, ``ways`` knows how the lanes of a port can go by such parts, and which is the cheapest between
two racks, ``choice`` chooses rack by rack, ``laid`` lays every lane fibre by fibre and says which trays cables run in,
``buy`` puts it together and ``bought`` is the result. May import ``plan`` and ``exports``. To add a way: a function of
``ways`` that says what it costs a port and what it takes between racks, and how ``laid`` lays it.
"""

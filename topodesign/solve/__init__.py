"""Solvers: programs that grow, maximum flows, and exact certificates.

No other folder calls a solver, and no float of one leaves this folder: what comes out are whole numbers that suggest
where to look, fractions with a proof, or bounds that hold whatever the solver did. It imports base and topology only.
"""

"""What plots show: one plot a file, each a function from a result to a chart or drawing (``chart``), without colours.

``figures`` beside this folder draws them. To add one, copy a file, and give it a line in ``PLOTS`` of ``plots``.
"""

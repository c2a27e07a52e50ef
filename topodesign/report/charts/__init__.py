"""Plots, one a file: functions (``chart``) from a result to uncoloured data.

``figures`` beside this folder draws them. To add one, copy a file, and give it a line in ``PLOTS`` of ``plots``.
"""

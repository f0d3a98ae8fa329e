"""Arrays in, numbers out: the only room that computes a score. Imports NumPy and SciPy, and knows
no files and no plots.
"""

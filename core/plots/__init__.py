"""One figure a file: a finished result in, a plotly Figure out.

theme         colours, signs and the plotly template, defined once
brief_lengths how long each role's briefs are
labels        what the labels of a dataset are
"""

"""Simple methods on a labelled split, beside published scores of PerturbQA.

baselines/  the methods, one file each, and their scores as a result
compute     of a dataset in a workspace
command     `baselines`
tab         on the page Scores
"""

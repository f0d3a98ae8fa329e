"""Ways to predict, one file each: from pairs and the labels that may be seen to predictions with
their traces.
"""

"""Ways to predict, one file each: from pairs and what may be known of them to predictions with their traces.

knn          labels lent by similar genes         fusion       rank-percentile fusion of runs
recovered    a component back from a fusion
"""

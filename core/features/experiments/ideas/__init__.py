"""The ideas of the published entry as experiments: files with one KIND or several, computed from what the workspace holds.

idea      how an idea becomes a kind of experiment, and the settings that ideas share
material  what ideas read: labelled rows, gene spaces, runs, knowledge packs
arms      ways to rank the same rows, scored alike
priors    kNN priors of labelled rows under several cuts of the folds
blending, knn_ideas, run_arms  ideas on fusions, on a kNN alone, and on saved runs that differ in one option
"""

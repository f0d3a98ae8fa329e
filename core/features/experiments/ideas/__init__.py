"""The ideas of the published entry as experiments: one file each with its KIND, computed from what the workspace holds.

idea      how an idea becomes a kind of experiment, and the settings that ideas share
material  what ideas read: labelled rows, gene spaces, runs, knowledge packs
arms      ways to rank the same rows, scored alike
priors    kNN priors of labelled rows under several cuts of the folds
blending  a saved run fused with kNN components
run_arms  saved runs that differ in one option
"""

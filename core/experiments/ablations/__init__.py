"""Ready ablations, one file each: the change of a score if one idea is changed, added or removed.

base      the interface of an ablation, and the list of the ablations in this package
material  the inputs of an ablation: labelled rows, gene spaces, runs, knowledge packs
arms      ways to score the same rows, with paired changes
priors    kNN priors of labelled rows under several cuts of the folds
run_arms  saved runs that differ in one option
blending  a saved run fused with kNN components
"""

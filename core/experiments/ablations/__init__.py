"""Ready ablations, one file each: what is left of a score if one idea is changed, added or taken away.

base      what an ablation is, and the list of the ablations of this room
material  what an ablation reads: labelled rows, gene spaces, runs, knowledge packs
arms      ways to score the same rows, scored alike, with paired changes
priors    kNN priors of labelled rows under several cuts of the folds
run_arms  saved runs that differ in one option
blending  a saved run fused with kNN components
"""

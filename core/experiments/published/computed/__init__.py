"""One module for each kind of published number, each with `compute(sources, wanted) -> Computed`.

wanted: what `published_numbers.toml` says of a number beside its value; `value` is its name within the group.

challenge_files      what train.csv and test.csv hold
labelled_pool        the labelled pool and its model's score
pool_arms            what the numbers about the pool compare: the model, the kNN, their fusion
pool_fusion          the kNN and the fusion under leave-one-out
pool_cells           the model and the fusion inside doubly-disjoint cells
knn_table            kNN transfer on all labelled rows
recovered_component  the component of a published fusion
debate               what the published debate's briefs hold
no_biology           row counts, and equal weights under both protocols
power                standard errors, detectable differences, paired z of public steps
graph_features       published features of a regulatory graph
entries              what published entries changed of the one they were made from
calibration          increasing functions and ties on the pool
seed_definitions     the direction score of several seeds, by ten definitions
missing              numbers that no public file allows to compute
"""

"""One module for each kind of published number, each with `compute(sources, wanted) -> Computed`.

wanted: the entries of a number in `published_numbers.toml` except its value; `value` is its name within the group.

challenge_files      the contents of train.csv and test.csv
labelled_pool        the labelled pool and its model's score
pool_arms            the arms of numbers about the pool: the model, the kNN, their fusion
pool_fusion          the kNN and the fusion under leave-one-out
pool_cells           the model and the fusion inside doubly-disjoint cells
knn_table            kNN transfer on all labelled rows
recovered_component  the component of a published fusion
debate               the contents of the published debate's briefs
no_biology           row counts, and equal weights under both protocols
power                standard errors, detectable differences, paired z of public steps
graph_features       published features of a regulatory graph
entries              the changes of published entries from their base
calibration          increasing functions and ties on the pool
seed_definitions     the direction score of several seeds, by ten definitions
missing              numbers that cannot be computed from public files
"""

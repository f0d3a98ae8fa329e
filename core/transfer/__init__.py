"""kNN priors, evaluation protocols, rank fusion, and taking a published fusion apart. Pure arrays: knows no files.

rows         labelled rows, who may see whom      similarity   cosines of genes in one space or several
knn          priors from similar rows             sums         the weighted label sums behind them
protocols    test, leave-one-out, folds           within       intervals of an AUROC inside cells
support      shrinking and weighing by support    provenance   which neighbours made a row's prior
fusion       rank-percentile fusion               decompose    a component back from a fusion
neighbourhood  turn a knob, see the neighbours    whatif       turn a knob, see the scores
plane        scores over all weights, and their optimism
layout       a dataset's rows as codes            plan         a kNN's settings as plain data
"""

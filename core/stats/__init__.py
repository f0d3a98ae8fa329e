"""Arrays in, numbers out: the only room that computes a score. Imports NumPy and SciPy, and knows no files and no plots.

arrays              types of arrays                validate           one check for each kind of argument
ranks               mid-ranks, percentiles         scores_and_labels  a run's scores, labels, the tasks DE and DIR
auroc               AUROC and the ROC curve        influence          influence of rows on an AUROC, covariances
intervals           the record of an interval      delong             intervals, rows independent or clustered
official_score      the score, with intervals      comparison         two runs, paired
row_changes         two runs, row by row           slices             the score of slices, and what they cost
stratified_score    pairs inside strata only       cell_auroc         pairs inside cells, influence of rows
weighted_auroc      AUROC under many sets of weights
bootstrap           rows, genes, perturbations     power              detectable differences, leaderboard noise
multiplicity        Holm, Benjamini and Hochberg   selection_optimism tuned against out of fold
calibration         reliability, Brier, ties       count_controls     what row counts reveal
"""

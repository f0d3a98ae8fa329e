"""Arrays in, numbers out: the only room that computes a score. Imports NumPy and SciPy, and knows
no files and no plots.

arrays              types of arrays                validate           one check for each kind of
                    argument
ranks               mid-ranks, percentiles         scores_and_labels  a run's scores, labels, the
                    tasks DE and DIR
scored_rows         all that statistics need of a run's rows
auroc               AUROC and the ROC curve        influence          influence of rows on a
                    statistic, covariances
intervals           the record of an interval      delong             intervals, rows independent or
                    clustered
clustered_mean      means of rows in clusters
official_score      the score, with intervals      comparison         two runs, paired
row_changes         two runs, row by row           slices             the score of slices, and what
                    they cost
cell_auroc          pairs inside cells only, influence of rows
within_axis         mean over genes, perturbations weighted_auroc     AUROC under many sets of
                    weights
top_k               precision at k
bootstrap           rows, genes, perturbations     power              detectable differences,
                    leaderboard noise
verdicts            confirmed, rejected, undecided: what an interval decides
multiplicity        p, Holm, Benjamini, Hochberg   selection_optimism tuned against out of fold
calibration         reliability, Brier, ties       recalibration      probabilities made right, out
                    of fold
count_controls      what row counts reveal
permuted_labels     what scores make of labels that are permuted inside groups
exact_permutation   two small samples, all ways to share them out
moderated_variance  variances of many genes, moderated as limma does
sign_flips          paired differences of clustered rows
space_probe         does a space know which rows of a gene or a perturbation have the label?
share_probe         does it predict label shares above the noise ceiling?
unit_rows           rows as both see them       run_probe          has a run seen its rows' labels?
prediction_powered  a rate from a judge and labels
"""

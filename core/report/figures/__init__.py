"""One file for each kind of figure, with its `FIGURE`: chart, table, title, caption and one sentence.

registry  finds them

labels           labels of the dataset            gene_rows        what row counts reveal
ladder           scores of all runs               baselines        the baselines without biology, beside the run
slices           the slices that cost most        roc_curves       ROC of DE and DIR
macro_scores     means over genes, perturbations  score_spread     a score by label
reliability      calibration of probabilities     brief_lengths    lengths of each role's briefs
published        published numbers, computed again ledger          verdicts of hypotheses
paired_changes   paired differences of two runs   rank_scatter     ranks in two runs
"""

"""The numbers of a run and the words for them: the only way from a run to a score.

run_scores    the rows of a run as it is scored, and its score
compare_runs  two runs on the rows that both cover, scored alike
baselines     baselines without biology on a split of a dataset
controls      controls without biology of a run, and whether the run beats it
label_means   means of labels over rows that share a gene or a perturbation
public_noise  how far a leaderboard's score can be from the truth
slices        the score of each slice of a run's rows
fusion_caveats  what has to be known of a fusion wherever a score of it is shown
score_result  the score of a run as a result
sentences     phrases that several results share
standing      where the runs of a dataset stand, and in words
terms         the terms of the field, each explained once
other_scores  means over genes and perturbations, and the top of the list
row_numbers   the numbers of a row: its flags, and how its verdicts led to them
row_trace     the trace of a row as people read it
"""

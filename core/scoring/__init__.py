"""The numbers of a run and the words for them: the only way from a run to a score.

arm_loader    the rows of the runs of an experiment, each read once
run_scores    the rows of a run as it is scored, and its score
compare_runs  two runs on the rows that both cover, scored alike
baselines     baselines without biology on a split of a dataset
controls      controls without biology of a run, and whether the run beats it
space_controls  kNN without biology beside a run: equal weights, random embeddings, scrambled
                symbols
label_means   means of labels over rows that share a gene or a perturbation
public_noise  how far a leaderboard's score can be from the truth
fusion_verdict  what a fusion gains over its baseline
calibration_result  how often rows of each predicted probability have an effect, or go up
fusion_caveats  what has to be known of a fusion wherever a score of it is shown
leakage       what a dataset's splits share, and all that gives labels away
row_leaks     names of copies, orders and ids that give labels away
text_leaks    texts that state labels, or whose words go along with them
space_leaks   gene spaces that have seen labels
run_leaks     runs that have seen labels, or copy row counts
leak_power    how weak a leak of a space is still found
score_result  the score of a run as a result; knn_result: of a kNN, and of the neighbours of a row
means_result  means of the scores inside genes, or inside perturbations
sentences     phrases that several results share
report_part   the runs that a report shows, and what features bring for it
standing      where the runs of a dataset stand, and in words
terms         the terms of the field, each explained once
other_scores  means over genes and perturbations, and the top of the list
row_reason    why a row was predicted so, in a sentence that somebody wrote
row_numbers   the numbers of a row: its flags, and how its verdicts led to them
row_trace     the trace of a row as people read it
"""

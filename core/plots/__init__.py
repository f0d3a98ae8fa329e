"""One file per figure: a finished result in, a plotly Figure out.

theme             colours, signs and the plotly template     drawing           lines, error bars,
                  texts
label_signs       the signs of labels, and their key         forest_plot       rows of dots with
                  error bars
printed           a figure as a file, with a heading
offline_page      colours and policy of files opened from disk

label_counts      labels of a dataset                        gene_row_counts   labels against a
                  gene's number of rows
scores            scores of runs, slices and baselines       brief_lengths     lengths of each
                  role's briefs
roc_curves        ROC of DE and DIR
score_histograms  a score by label                           reliability       calibration of
                  probabilities
paired_changes    differences of two runs or groups          rank_scatter      ranks in two runs
score_history     scores of all trials, in order             curves            losses or hits by
                  step, epoch or k
weight_heatmap    the mean over all pairs of weights
experiment_arms   arms of an experiment against its base
published_differences  published numbers and ours
volcano           effects of a perturbation on genes         effect_counts     number of genes that
                  perturbations change
knockdown         a target's remaining expression
asked_again       answers about one row, asked again
gene_map          a query among the genes of a space         cumulative_share  number of neighbours
                  behind a prior
"""

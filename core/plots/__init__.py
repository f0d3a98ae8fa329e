"""One figure a file: a finished table in, a plotly Figure out.

theme             colours, signs and the plotly template, defined once
drawing           what figures draw alike: named lines, whiskers, text of others; which columns a table needs
forest_plot       rows of dots with whiskers
label_signs       the signs of labels as markers, and the key above a plot

label_counts      what the labels of a dataset are
gene_row_counts   what the number of a gene's rows gives away
ladder            where the runs stand
brief_lengths     how long each role's briefs are
roc_curves        every threshold of DE and DIR
slice_scores      where the score comes from
score_histograms  a score by label
reliability       do probabilities mean what they say?
paired_changes    paired differences of two runs
rank_scatter      how two runs rank the same rows
rank_movers       rows that move most between two runs
weight_heatmap    the mean score over all pairs of weights
gene_map          a query among the genes of a space
cumulative_share  on how many neighbours a prior rests
"""

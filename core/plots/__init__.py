"""One figure a file: a finished result in, a plotly Figure out.

theme          colours, signs and the plotly template, defined once
marks, forest  what figures draw alike: named lines, whiskers, text of others; rows of dots with whiskers
validate       does a table have what a figure needs?
signs          the signs of labels as markers, and the key above a plot

labels         what the labels of a dataset are        gene_counts    what the number of a gene's rows gives away
ladder         where the runs stand                    brief_lengths  how long each role's briefs are
roc            every threshold of DE and DIR           slices         where the score comes from
distributions  a score by label                        reliability    do probabilities mean what they say
changes        paired differences of two runs          rank_scatter   how two runs rank the same rows
weight_plane   the mean over all pairs of weights      movers         rows that move most between two runs
gene_map       a query among the genes of a space      cumulative_share  on how many neighbours a prior rests
"""

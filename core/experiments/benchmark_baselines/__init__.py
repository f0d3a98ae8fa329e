"""Baselines that use what is known of genes, one file each: training rows and knowledge in, scores of the rows of a split out.

base                what a baseline is, and the list of the baselines of this room
material            what a baseline reads: training rows, rows to predict, a network of genes, gene spaces
split               everything about the baselines of one split: split_words in words, as tables and as JSON
table               all baselines of a split, scored alike, also by distance in the network
retrieval_vote      labels of training rows that SUMMER would retrieve
gene_neighbours     kNN over descriptions and over the network; the edge between perturbation and gene
graph_attention     a graph attention network, with attention_settings
published_scores    what was published of the benchmark
"""

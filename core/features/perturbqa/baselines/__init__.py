"""Baselines that use knowledge about genes, one file each: training rows and knowledge in, scores of the rows of a split out.

base                the interface of a baseline
material            the inputs of a baseline: training rows, rows to predict, a network of genes, gene spaces
split               all baselines of one split, as a result
table               scores of all baselines of a split, also by distance in the network
retrieval_vote      labels of training rows that SUMMER would retrieve
gene_neighbours     kNN over descriptions and over the network; the edge between perturbation and gene
graph_attention     a graph attention network, with attention_settings
published_scores    published scores of the benchmark
"""

"""Single-cell files (AnnData): labels from a screen of the user's own, predicted expression, and the simulator of such screens.

hdf5_walk                an HDF5 file is opened only if nothing in it leads elsewhere
hdf5_values              numbers and texts of it, no more than it can hold
anndata_parts            obs, the columns of var that name genes, and X or a layer, in the file or in memory
gene_names               what the genes are called: by the index of var, or by a column
anndata_file             a file opened in memory or backed, read in blocks and checked
cell_formats             the format that is read: AnnData as HDF5
other_cells              what files of cells in other formats are, and how to make .h5ad of them
transforms               what was done to values that are not counts: roots, logarithms, arcsinh tell themselves
value_facts              what the values of a file are like: their sums, their largest, what they are for certain
columns                  which columns say what was done to a cell
conditions               what was done to each cell: columns, names, controls, genes, for all that reads cells
contradictions           columns that name a second perturbed gene, or other controls
confounders              cell lines, donors and batches that differ between controls and perturbed cells
strata                   comparisons inside of batches or lines and of like depth, pooled
replicates               pseudobulks of guides or batches, and a moderated t test of them
mock_perturbations       control cells that are compared as perturbations are, of which nothing is true
design                   how cells are compared: strata, replicates and mock perturbations
comparisons              all of these, part by part of the genes
groups                   the cells of each perturbation, and of the controls
differential_expression  the rank sum of each gene, in parts that fit into memory
calibration              how many effects the thresholds find in mock perturbations
labels                   up, down, none; which guides failed
sampling                 which pairs become rows, and in which split
screen                   from a file to labelled pairs in one call
label_record             what is kept of how labels were made
summaries                what a file holds and what became of it, as results
tables                   the tables beside a dataset
predicted_expression     predicted AnnData as log2 fold changes over real controls
scales                   counts, their means, or log1p of some sum a cell: told by sums, or asked for
change_rows              the rows of a table of differential expression, for labels and for predictions
change_scales            percentages, and ratios less 1, that are called log2 fold changes
predicted_table          a table of predicted log2 fold changes
changes_table            labels of a table of differential expression
predicted_changes        what either says of the pairs of a dataset
probability_map          from there to probabilities, one increasing map for each axis
predicted_rows           the rows of a run of them, with flagged stand-ins
simulator                screens whose true effects are known
packages                 the optional packages
"""

"""Read gene symbols and names of perturbations as laboratories write them.

kinds          names that are no symbols (Ensembl, dimensions, cells), and what a matrix is of
p_values       names of columns with p-values or ranks
spelling       spaces, and texts that mean a missing value
controls       values that look like controls
perturbations  the meaning of each value of a perturbation column: controls, genes, combinations,
               guides
"""

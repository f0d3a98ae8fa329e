"""Gene symbols and names of perturbations as laboratories write them.

p_values       columns whose names say that they hold p-values or ranks
spelling       blanks, and texts that stand for a missing value
controls       values that look like controls
perturbations  what each value of a perturbation column means: controls, genes, combinations, guides
"""

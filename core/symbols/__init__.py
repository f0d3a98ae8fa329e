"""Gene symbols and names of perturbations as laboratories write them.

spelling       blanks, and texts that stand for a missing value
controls       values that look like controls
perturbations  what each value of a perturbation column means: controls, genes, combinations, guides
"""

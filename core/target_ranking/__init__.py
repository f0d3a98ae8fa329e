"""Target ranking, the reverse problem: which gene was perturbed, told from the expression of cells.

Expression comes in from an AnnData file or from the simulator, is split by condition, and models rank the genes of every
test condition so that the perturbed ones come first. Every model is scored on the same split, with the same masking and unit,
beside what a random ranking scores and what no model can exceed that ranks only genes seen in training.
"""

"""Target ranking, the reverse problem: predict which gene was perturbed from the expression of cells.

Expression comes from an AnnData file or from the simulator and is split by condition. Models rank the genes of every test
condition, ideally with the perturbed ones first. Every model is scored on the same split, with the same masking and unit. Its
scores are compared with a random ranking and with the ceiling of models that rank only genes seen in training.
"""

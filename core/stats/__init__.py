"""Pure arrays in, numbers out: the only room that computes a score. Imports NumPy and SciPy, knows no files and no plots.

arrays       kinds of array            validate      one check for each kind of argument
ranks        mid-ranks, percentiles    scores        what is ranked, what the labels say
auroc, roc   AUROC, placements, curve  influence     how rows move an AUROC, covariances
intervals    the Interval record       delong        rows independent
clustered    rows share a perturbation or a gene     score         official score, score with all intervals
compare      two runs, paired          paired        row by row: contributions, rank movement, agreement
slices       where the score comes from              stratified    pairs inside a stratum only
weighted     AUROC under many weights  bootstrap     rows, perturbations, genes, both axes
power        what can be seen at all   multiplicity  Holm, Benjamini and Hochberg
optimism     tuned against out of fold calibration   reliability, Brier, tie ceiling and floor
controls     what row counts give away
"""

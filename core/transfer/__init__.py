"""kNN priors, evaluation protocols, rank fusion and its inverse. Arrays in, arrays out."""

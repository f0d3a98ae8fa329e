"""Gene spaces: their vectors, checkpoints of models, and the match to a dataset's symbols."""

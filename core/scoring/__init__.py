"""The numbers of a run and the words for them: the only way from a run to a score."""

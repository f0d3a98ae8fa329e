"""The numbers of a run and the words for them: the only way from a run to a score.

run_scores    scores, slices and controls from a run's rows
sentences     scores and comparisons in words
json_shapes   the JSON of the command line's numbers
"""

"""A run's numbers and the words for them: the only way from a run to a score.

run_scores    from a run's rows to its numbers
sentences     what a comparison lets one say, in words
json_shapes   the JSON of the command line's numbers
"""

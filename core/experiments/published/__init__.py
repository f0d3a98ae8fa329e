"""Published numbers, computed again on the workspace at hand.

registry   the numbers, their values and sources: `published_numbers.toml` (number_words: their names in words)
sources    the files at hand, found by content or name, and the spaces built from them in memory
reproduce  ours beside the published ones, with the reason where they differ
computed   one module for each kind of number
"""

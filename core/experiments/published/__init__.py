"""Compute published numbers again from this workspace.

registry   the numbers, their values and sources: `published_numbers.toml` (number_words: their names in words)
sources    the available files, found by content or name, and the spaces built from them in memory
reproduce  ours and the published ones, with the reason for a difference
computed   one module for each kind of number
"""

"""A row of a debate asked again with another dossier, beside asking the same again: a panel on the row.

askings   what is asked, as runs: planned, started, found
result    what it shows
panel     on a row
"""

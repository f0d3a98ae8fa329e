"""A run as a folder of plain files, in which a colleague without the app reads, filters and searches its debates.

content       what the folder says: the run, a table of its rows, and each row's texts
files         the folder's files: data as scripts, the style sheet with the palette, and the files in static/

A page that is opened from disk may fetch nothing, so that data lie in scripts, 100 rows' texts in each.
"""

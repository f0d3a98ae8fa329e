"""What leaves the workbench.

numbers     from a run's rows to its numbers
verdict     what a comparison lets one say, in words
shapes      the JSON of the command line's numbers
rows        a run's predictions or traces as CSV, Parquet or JSON lines
"""

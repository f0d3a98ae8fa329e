"""What leaves the workbench.

rows        a run's predictions or traces as CSV, Parquet or JSON lines
"""

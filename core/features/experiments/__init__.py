"""Experiments: runs that differ in one thing, compared, with a verdict; and the ledger of hypotheses."""

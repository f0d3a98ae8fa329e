"""Runs: a request becomes a specification, a worker predicts its rows into a journal, and the store
ingests the journal.
"""

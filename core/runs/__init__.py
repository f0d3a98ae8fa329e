"""Runs: a request becomes a specification, a worker predicts its rows into a journal, and the store
ingests the journal.

request          what a person asks for, which rows, and the calls, tokens, time and money that it
                 is expected to take
shared_settings  settings that several requests have: model, server, calls at once, tokens, where
                 rows are predicted
resolve          from a request to a specification
spec             a run's specification, which is its identity, and its execution settings
worker           predicts the rows that are missing
ray_backend      predicts rows on a Ray cluster, as tasks of a batch each
ray_cluster      the connection to one, whether a run can go there, and calls on its nodes for other
                 work
row_prediction   predicts one row, whose error becomes the row's failure; tells a server that is
                 gone from rows that fail
row_watch        lets others watch a row while it is predicted
dependencies     what a worker needs besides the run's folder, the context that a method gets, and
                 the response cache
run_state        the state of a run, read from its folder
run_folder       the files of a run
journal          its finished rows: reads, counts and appends them; and what it has paid for
row_codec        rows as lines of the journal
row_batches      lines of the journal, audited and laid out for the store
ingest           from the journal into the store, and a worker's reports: its log, its heartbeats,
                 its ingests
"""

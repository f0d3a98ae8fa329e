"""Runs: request → specification → worker → journal → ingest.

request          what a person asks for
resolve          from a request to a specification
spec             what a run is, and how it is carried out
estimate         about how many calls, tokens and seconds it takes
dependencies     what a worker needs from outside, and what a method is given of it
worker           predicts what is missing
worker_process   a worker that outlives who started it
circuit_breaker  stops a run to which nobody answers
run_reporter     what a worker tells of itself: log, heartbeat, ingest
journal          the folder of a run
row_codec        finished rows as lines of JSON, and back
run_state        what became of a run; who may work on it
ingest           from the journal into the store
"""

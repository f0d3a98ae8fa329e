"""Runs: planned, worked on by a process of their own, journalled, resumable, folded into the store.

spec      what a run is, and how it is carried out
plan      which rows, how many calls, about what it takes
coding    finished rows as lines of JSON, and back
journal   the folder of a run
states    what became of a run; who may work on it
world     what a worker needs from outside, and what a method is given of it
silence   rows to which nobody answers
worker    predict what is missing
account   what a worker tells of itself: log, beats, folds
start     a worker that outlives who started it
fold      from the journal into the store
"""

"""The only room that imports duckdb: the gate to the file, its schema, and one query module a table.

connection  who may use the file when: many readers or one writer, across threads and processes
migrations  the schema, as numbered steps
datasets, pairs, runs, predictions, traces, evidence, imports, notes, trail: what is asked of each table
bundles     everything about a run, in bulk
versions    counters that caches are keyed by
"""

from core.store.connection import Cursor, Store, open_store

__all__ = ["Cursor", "Store", "open_store"]

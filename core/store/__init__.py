"""The only room that imports duckdb: the gate to the file, its schema, and one query module per
table.

attachment      the file as one writer has it, or all readers of this process
connection      who may use the file when: many readers or one writer, across threads and processes
schema          the tables, in schema.sql, and the hash by which a store of other tables is refused
queries         how query modules talk to a cursor
datasets, pairs, runs, predictions, traces, evidence, calls, imports: one table each
file_rows       what each file of a cell line says, from which its rows are made
hypotheses      the ledger of hypotheses: entries are added, never changed
notes           notes on rows and runs, and presets
walks           walk-throughs: ordered stops that people kept while they read
spaces          records of gene spaces and knowledge packs
changes         the audit log, and the counters that caches are keyed by
text_search     what a text has to hold to be found, and the texts of all runs of a dataset that
                hold it
findings        what the audit finds in the briefs of a run: made again, and counted
rubrics         rubrics of the user's own, the texts that they ask about, samples of these, and
                labels
bundles         everything about a run, in bulk
table_spool     Arrow tables that lie on disk until they are needed
"""

from core.store.connection import Cursor, Store, open_store

__all__ = ["Cursor", "Store", "open_store"]

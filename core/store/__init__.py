"""The only room that imports duckdb: the gate to the file, its schema, and one query module per
table.
"""

from core.store.connection import Cursor, Store, open_store

__all__ = ["Cursor", "Store", "open_store"]

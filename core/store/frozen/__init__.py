"""What released migrations run, and what stored hashes were made by: never edited, since older stores depend on every letter.

These files import the standard library alone, and tests/store/test_frozen.py knows the SHA-256 of each.

hash_chain_1      the canonical form of an entry, and the hash that chains it to the one before
brief_findings_6  the findings in briefs, as migration 6 makes them
"""

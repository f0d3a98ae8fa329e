"""One function per change a person can make; pages and commands share them.

desk        a workspace, and `change`: the one way to change it (read-only mode and the audit trail live here)
imports     files in
undo        and out again
record      rows as a run: what importing and simulating share
runs        rename, set, delete, notes
demo        the simulated workspace
public      fetch public files and import them
"""

"""One function per change a person can make; pages and commands share them.

desk        a workspace, and `change`: the one way to change it (read-only mode and the audit trail live here)
imports     files in, undo
runs        rename, set, delete, notes
demo        the simulated workspace
public      fetch public files and import them
"""

"""One function per change a person can make; pages and commands share them.

desk        a workspace, and `change`: the one way to change it (read-only mode and the audit trail live here)
files       what a file is, by its content          imports     files in, recorded as `landing` has it
undo        and out again                            record      rows as a run: what importing and simulating share
runs        rename, set, delete, notes               demo        the simulated workspace
public      fetch public files and import them       packs       knowledge packs: keep, read, take back
spaces      gene spaces: build, load, delete         presets     settings of a page under a name
transfer    kNN, fusion and what is recovered from one, as runs
wishes      from what a person asks for to a run's specification
launching   plan and start a run                     journals    its worker: pause, cancel, resume, retry, settle
folders     where a run's journal lies               lineage     what a run and those it was made from say of themselves
submissions check a file, package a run              bundles     a run with all that belongs to it in one file, out and in
"""

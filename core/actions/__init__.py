"""One function per change a person can make; pages and commands share them.

workspace      a workspace, and the one way to change it: read-only mode and the audit log live here
files          what a file is, by its content
imports        files in, recognised by content
import_target  the dataset that a file's rows belong to, the name of its run, the record of its import
undo           an import taken back
fetch          public files downloaded, then imported
export         a run's rows as files that other programs read
demo           the simulated workspace
launch         a request resolved, estimated and started
run_control    start, pause, cancel, resume, retry; what became of a run
run_writer     which run a specification is; finished rows as a run
run_folders    where a run's files lie
components     runs, gene spaces and labels that other runs are made from
transfer       requests of kNN, fusion and decomposition; the neighbours behind a row
runs           rename, score, note, delete
lineage        a run and those it was made from: prompts, tools, models, labels
submissions    check a file, package a run
bundles        a run with all that is known of it in one file, out and in
spaces         gene spaces: build, load, delete
packs          knowledge packs: add, read, restore, remove
presets        settings of a page under a name
doctor         what state an installation and its workspace are in
"""

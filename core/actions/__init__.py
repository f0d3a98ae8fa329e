"""One function per change a person can make; pages and commands share them.

workspace      a workspace, the folders of its runs, and `change`: the one way to change it (read-only mode and the audit log)
imports        imports files
cells          makes a dataset of a file of single cells, with its tables beside it
jobs           jobs of this workspace: where their folders lie, started and resumed, settled if they crashed
job_kinds      one file a kind of background job: how its jobs are listed, stopped and resumed
job_control    lists, finds, stops and resumes jobs of every kind
cell_predictions  runs made from predicted expression
uploads_apart  what is uploaded to a shared server, read by a process of its own: upload_process
page_imports   imports by path for a page, from the allowed folders alone
undo           takes an import back
label_request  what is asked for to make a dataset of a screen
space_settings how a gene space is built from each source
reading_settings  how a model is asked to read texts
readings       readings of a run's texts by a model: plans, estimates, starts and finds them, and their answers
reports        what reports show, saved under a name
report_finders what a report reads besides the store
walks          walk-throughs: stops are added, worded, moved, taken out
previews       what an import would do, and the columns that people said
runs           renames and deletes runs, records public scores, writes notes; saves presets
export         writes a run's rows as files for other programs
launch         resolves, estimates and starts a run
ask            asks about one pair that a person typed; lets a row be watched while it is predicted
expectations   what people expected of pairs before they saw the label, counted
model_servers  what model servers can do, and whether several can be in one run
component_loader  loads what runs are made from: other runs, gene spaces, labels
same_runs      finds the run of a specification, and makes room for one of its name
run_control    starts, pauses, cancels, resumes and retries runs, and settles what a worker left
changed_settings  checks that a run can go on with other settings
knn_numbers    the numbers of a kNN: the mean of ten cuts, and its null, which is kept
comparison_log  every comparison of two runs that was looked at, counted and corrected for
derived_runs   requests of kNN, fusion and decomposition, and the neighbours of a row
made_runs      runs that something needs done: found, made here or waited for
target_ranking  target rankings: trains, evaluates, finds and deletes them
finetunes      plans, starts, stops and resumes fine-tunes, and finds those that are there
lineage        a run, the runs that it was made from, and what they used
bundles        writes a run with all that is known of it to one file, and imports it
machine_names  what leaves with nothing that is sent to others: folders, addresses, keys
site           a run as a folder of plain files that a browser shows
fusion_files   a saved fusion as one file, in which it is weighed anew
submissions    checks and packages submissions
spaces         gene spaces: build, load, delete
packs          knowledge packs: which there are, and what is read from them
pack_texts     knowledge packs as texts about genes, to be searched
labels         draws texts of a run to read for a rubric; stores what people answer
label_files    labels as CSV: export, import
prompt_files   files of prompts that runs ask: read, check, keep
rubrics        questions about texts of runs: finds them, adds one's own
gene_sets      gene sets summarised by a model, a phrase for each
demo           makes the simulated workspace
backups        the whole workspace as one file, and a workspace made from such a file
doctor         the state of an installation and its workspace
"""

"""What a file is, how what it holds enters the store, and how that is undone: in the caller's transaction, which an action opens.

files          recognises a file by its content
other_formats  files of formats that are not read, or by another command, named for what they are
allowed_paths  paths that a visitor of a page types, in the allowed folders alone
confinement    what a process that reads other people's files may do
external_scores  the runs that a file of external scores brings
audited_rows   finished rows, audited and laid out for the store batch by batch
run_writer     writes finished rows as a run
dataset_choice  the dataset that the rows of a file of pairs join or become
import_target  the dataset that a file's predictions belong to, and the record of its import
imported_rows  the rows of one imported file: pairs, a sample submission, or a run
bundled_run    the run of a bundle
pack_files     the files of knowledge packs
space_files    the files of gene spaces
screen_tables  the tables of a screen
preview        what an import would do, before anything is written
undo           takes back what an import brought
"""

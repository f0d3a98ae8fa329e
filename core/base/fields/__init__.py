"""Settings that a person may choose, each declared once: the command's option, the form's control,
the key in TOML and JSON, and whether it changes the result all follow from the declaration.

setting     one setting: what its type allows, what it means, and how a text is read
record      records whose fields are settings: the settings of one, one from chosen values, and back
toml_table  the same out of a file, with errors that name file, line and key
"""

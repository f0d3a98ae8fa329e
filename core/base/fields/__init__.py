"""Settings that a person may choose, each declared once: the command's option, the form's control,
the key in TOML and JSON, and whether it changes the result all follow from the declaration.
"""

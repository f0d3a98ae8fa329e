"""Gene spaces: load them, build them, and match them to a dataset's symbols."""

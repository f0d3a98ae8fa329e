"""Rules that answer rubrics: one file a question."""

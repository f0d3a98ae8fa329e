"""One file a question that a rule can answer. `registry` finds them: a new file with a `RULE` is a rubric."""

"""Questions that a rule can answer. `registry` finds them: those of `built_in`, and a new file with `RULES`; each is a rubric."""

"""Questions that a rule can answer; each is a rubric. `registry` finds the rules in `built_in` and in any file with `RULES`."""

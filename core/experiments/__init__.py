"""Which ideas survive: rules for decisions, benchmarks, controls and ablations. Runs and spaces in, tables and verdicts out."""

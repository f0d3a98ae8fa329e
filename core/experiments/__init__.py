"""Test ideas with decision rules, benchmarks, controls and ablations. Runs and spaces in, tables and verdicts out."""

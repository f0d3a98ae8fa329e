"""Baselines of benchmarks, and answers to rows that were asked again. Runs and spaces in, tables out."""

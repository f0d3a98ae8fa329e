"""Example results for tests/test_results.py: every module here has `examples()`, which returns some results."""

"""The parts of the page Experiments: Start, Results and Ledger."""

"""Published numbers, computed again: `reproduce`, and a part of a report."""

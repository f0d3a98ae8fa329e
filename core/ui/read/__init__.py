"""The page Read."""

"""The Breakdown page."""

"""The Neighbours page."""

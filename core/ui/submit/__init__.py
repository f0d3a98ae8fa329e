"""The Submit page."""

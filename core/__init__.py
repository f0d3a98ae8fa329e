"""PerturbDesk's backend: everything that is not a page. See the map of rooms in README.md."""

__version__ = "0.2.0"

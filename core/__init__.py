"""PerturbDesk's backend: everything that is not a page. See the map of rooms in
docs/architecture.md."""

__version__ = "0.3.0"

"""Pages of features are tried as all pages are."""

from tests.ui.conftest import app_tests_cost_little_more_than_their_pages, glance, visit

__all__ = ["app_tests_cost_little_more_than_their_pages", "glance", "visit"]

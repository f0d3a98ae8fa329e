"""Pages of features are tried as all pages are."""

from tests.ui.conftest import (
    app_tests_cost_little_more_than_their_pages,
    browser,
    demo_server,
    fused_copy,
    fused_demo,
    glance,
    open_tab,
    shared_server,
    shared_workspace,
    visit,
)

__all__ = [
    "app_tests_cost_little_more_than_their_pages",
    "browser",
    "demo_server",
    "fused_copy",
    "fused_demo",
    "glance",
    "open_tab",
    "shared_server",
    "shared_workspace",
    "visit",
]

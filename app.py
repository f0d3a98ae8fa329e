"""PerturbDesk: `make app`, or `streamlit run app.py`.

This file is only the router; pages are in pages/, everything else in core/.
"""

from functools import partial

import streamlit as st

from core.base.feature import Page, resolve
from core.features import features
from core.ui import shell

GROUPS = ("", "Read", "Score", "Make", "Workspace", "More")


def page(brought: Page) -> st.Page:
    """Return a page of pages/, or of a package, which has none there. Its address is its name."""
    return st.Page(
        partial(run, brought.show) if brought.show else f"pages/{brought.name}.py",
        title=brought.title,
        icon=f":material/{brought.icon}:" if brought.icon else None,
        url_path=brought.name,
        default=brought.name == "overview",
        visibility="hidden" if brought.is_hidden else "visible",
    )


def run(reference: str) -> None:
    """Import and show the page of a package."""
    resolve(reference)()


pages = {
    group: [
        page(each)
        for feature in features().values()
        for each in feature.pages
        if each.group == group
    ]
    for group in GROUPS
}
shell.route(pages)

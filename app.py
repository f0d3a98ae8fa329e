"""PerturbDesk: `make app`, or `streamlit run app.py`.

This file is only the router; pages are in pages/, everything else in core/.
"""

import streamlit as st

from core.base.feature import Page
from core.features import features
from core.ui import shell

GROUPS = ("", "Read", "Score", "Make", "Workspace", "More")


def page(brought: Page) -> st.Page:
    """Return a page of pages/. Its address is the file's name."""
    return st.Page(
        f"pages/{brought.name}.py",
        title=brought.title,
        icon=f":material/{brought.icon}:" if brought.icon else None,
        default=brought.name == "overview",
        visibility="hidden" if brought.is_hidden else "visible",
    )


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

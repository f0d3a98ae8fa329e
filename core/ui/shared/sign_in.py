"""The sign-in of a shared server: who is at the browser, and what they may do. Without one, whoever reaches the app is its user.

Streamlit asks the OpenID provider that `[auth]` in secrets.toml names, and keeps who signed in in a signed cookie, which is read
when a browser connects. Nothing of this is cached: each run of a page asks for its own session.
"""

from __future__ import annotations

from importlib.util import find_spec

import streamlit as st

from core.actions.workspace import Person, Workspace, person_of
from core.config import Settings
from core.ui.shared import loaders
from core.ui.shared.widgets import as_text


def session_workspace() -> Workspace | None:
    """The workspace as the person at this browser may use it; None if they have to sign in first, or may not see it."""
    found = loaders.workspace()
    if not found.settings.sign_in:
        return found
    person = signed_in(found.settings)
    return None if person is None else found.used_by(person)


def signed_in(settings: Settings) -> Person | None:
    """Who signed in, if the settings give them a role and their provider does not say that the address is unverified."""
    user = st.user.to_dict()
    email = user.get("email")
    if user.get("is_logged_in") is not True or not isinstance(email, str) or user.get("email_verified") is False:
        return None
    name = user.get("name")
    return person_of(settings, email, name if isinstance(name, str) else "")


def show_sign_in() -> None:
    """Show the sign-in and nothing else; to somebody without a role, why they see no more."""
    user = st.user.to_dict()
    st.markdown("## Sign in")
    if user.get("is_logged_in") is True:
        email = as_text(str(user.get("email") or "an account without an e-mail address"))
        if user.get("email_verified") is False:
            st.error(f"{email} is not verified by its provider. Verify the address there, then sign in again.")
        else:
            st.error(f"{email} has no access to this workspace. Ask whoever runs this server to add the address.")
        st.button("Sign out", on_click=st.logout, key="sign-out")
    elif "is_logged_in" not in user:
        st.error("Sign-in is required, but not configured: whoever runs this server has to add [auth] to secrets.toml.")
    elif find_spec("authlib") is None:
        st.error("Sign-in needs the package Authlib: whoever runs this server has to install requirements-share.txt.")
    else:
        st.markdown("This workspace is shared with the people named by whoever runs this server.")
        st.button("Sign in", on_click=st.login, key="sign-in", type="primary")


def show_person(workspace: Workspace) -> None:
    """Show who is signed in, as what, and the way out; nothing where nobody signs in."""
    if workspace.person is None:
        return
    st.caption(f"Signed in as {as_text(workspace.person.author)}, {workspace.person.role}")
    st.button("Sign out", on_click=st.logout, key="sign-out", icon=":material/logout:")

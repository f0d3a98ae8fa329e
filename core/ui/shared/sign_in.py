"""The sign-in of a shared server: who is at the browser, and what they may do. Without one, whoever reaches the app is its user.

Streamlit asks the OpenID provider that `[auth]` in secrets.toml names, and keeps who signed in in a signed cookie, which is read
when a browser connects. Nothing of this is cached: each run of a page or of a part of it asks for its own session, and the
role is asked for again whenever something is about to change.
"""

from __future__ import annotations

from importlib.util import find_spec

import streamlit as st
from streamlit import config

from core.actions.workspace import Person, Workspace
from core.config import Settings
from core.ui import sign_ins
from core.ui.access import is_enforced
from core.ui.shared import server_workspace
from core.ui.shared.widgets import as_text
from core.ui.sign_ins import account_of

_DRAWN_FOR = "_drawn_for"  # a session key: the person whom the page was drawn for


def session_workspace() -> Workspace | None:
    """Return the workspace as the person at this browser may use it; None if they have to sign in first, or may not see it."""
    found = server_workspace.open_for(_look_up())
    st.session_state[_DRAWN_FOR] = found.person if found is not None else None
    return found


def draw_anew_if_changed() -> None:
    """Run the whole page if the person at this browser has another role than when it was drawn; for a part that runs alone."""
    if server_workspace.read_workspace().settings.sign_in and _look_up()() != st.session_state.get(_DRAWN_FOR):
        st.rerun()


def _look_up() -> server_workspace.LookUp:
    """Return what says who is at this browser, wherever it is asked: in a callback, in a thread, or after the page."""
    found = account_of(st.user.to_dict())
    return _nobody if found is None else found.person


def _nobody() -> Person | None:
    return None


def may_upload() -> bool:
    """Return whether the person at this browser may upload files."""
    workspace = session_workspace()
    return workspace is not None and sign_ins.may_upload(workspace.settings)


def refuse_unprotected(settings: Settings) -> bool:
    """Show why a shared workspace is not served, and return True, if this server was started without what protects it."""
    if not settings.is_shared or is_enforced():
        return False
    config.set_option("server.maxUploadSize", 0)  # nothing stands before Streamlit's uploads
    st.error(
        "This workspace is shared, and `streamlit run app.py` is for your own machine only. "
        "Whoever runs this server has to start it with `perturbdesk serve-app` or `make app`."
    )
    return True


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

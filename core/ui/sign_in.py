"""The sign-in of a shared server: who uses the browser, and their permissions.

Without a sign-in, everybody who reaches the app is its user. Streamlit asks the OpenID provider
that `[auth]` in secrets.toml names, and stores the person in a signed cookie, which is read when a
browser connects. None of this is cached: each run of a page or fragment checks its own session, and
the role is checked again before each change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from threading import Event
from typing import Any

import streamlit as st
from streamlit import config, runtime

from core.base.config import Settings, load_settings
from core.runs.workspace import Person, Workspace, person_of
from core.ui import server_workspace
from core.ui.widgets import as_text

_DRAWN_FOR = "_drawn_for"  # a session key: the person whom the page was drawn for


def session_workspace() -> Workspace | None:
    """Return the workspace with the permissions of the person at this browser; None without a
    sign-in or a role."""
    found = server_workspace.open_for(_look_up())
    st.session_state[_DRAWN_FOR] = found.person if found is not None else None
    return found


def draw_anew_if_changed() -> None:
    """Rerun the whole page if the role of the person at this browser has changed since it was
    drawn; for fragments."""
    if server_workspace.read_workspace().settings.sign_in and _look_up()() != st.session_state.get(
        _DRAWN_FOR
    ):
        st.rerun()


def _look_up() -> server_workspace.LookUp:
    """Return a function that returns the person at this browser, usable in a callback, in a thread,
    or after the page."""
    found = account_of(st.user.to_dict())
    return (lambda: None) if found is None else found.person


def may_upload() -> bool:
    """Return whether the person at this browser may upload files."""
    workspace = session_workspace()
    return workspace is not None and may_upload_with(workspace.settings)


def refuse_unprotected(settings: Settings) -> bool:
    """If this server was started without access control for a shared workspace, show that and
    return True."""
    if not settings.is_shared or is_enforced():
        return False
    config.set_option("server.maxUploadSize", 0)  # Streamlit's uploads are unprotected
    st.error(
        "This workspace is shared, and `streamlit run app.py` is for your own machine only. The"
        " person who runs this server has to start it with `perturbdesk serve-app` or `make app`."
    )
    return True


def show_sign_in() -> None:
    """Show only the sign-in; to a person without a role, the reason."""
    user = st.user.to_dict()
    st.markdown("## Sign in")
    if user.get("is_logged_in") is True:
        email = as_text(str(user.get("email") or "an account without an e-mail address"))
        if _is_unverified(user):
            st.error(
                f"{email} is not verified by its provider: email_verified is"
                f" {as_text(repr(user['email_verified']))}, expected true. Verify it there, then"
                " sign in again."
            )
        else:
            st.error(
                f"{email} has no access to this workspace. Ask the person who runs this server to"
                " add the address."
            )
        st.button("Sign out", on_click=st.logout, key="sign-out")
    elif "is_logged_in" not in user:
        st.error(
            "Sign-in is required but not configured: the person who runs this server has to add"
            " [auth] to secrets.toml."
        )
    elif find_spec("authlib") is None:
        st.error(
            "Sign-in needs the package Authlib: the person who runs this server has to install"
            " requirements-share.txt."
        )
    else:
        st.markdown(
            "This workspace is shared with people chosen by the person who runs this server."
        )
        st.button("Sign in", on_click=st.login, key="sign-in", type="primary")


def show_person(workspace: Workspace) -> None:
    """Show the signed-in person, their role and the sign-out; nothing on a server without
    sign-in."""
    if workspace.person is None:
        return
    st.caption(f"Signed in as {as_text(workspace.person.author)}, {workspace.person.role}")
    st.button("Sign out", on_click=st.logout, key="sign-out", icon=":material/logout:")


ENFORCED = Event()  # set by a server that checks who sends each request


@dataclass(frozen=True, slots=True)
class Account:
    """An account whose address is not marked as unverified by its provider."""

    email: str
    name: str = ""

    def person(self) -> Person | None:
        """Return the person with the present role of the address in the environment or the file of
        secrets; None without a role.

        Raise InputError if that file cannot be read.
        """
        return person_of(load_settings(), self.email, self.name)


def account_of(user: Mapping[str, Any]) -> Account | None:
    """Return the account signed in according to Streamlit; None if there is none, or if its address
    is unverified."""
    email, name = user.get("email"), user.get("name")
    if user.get("is_logged_in") is not True or not isinstance(email, str) or _is_unverified(user):
        return None
    return Account(email, name if isinstance(name, str) else "")


def _is_unverified(user: Mapping[str, Any]) -> bool:
    """Return whether the provider says anything but true of the address; some send it as text, and
    some say nothing of it."""
    verified = user.get("email_verified", True)
    return verified is not True and verified != "true"


def may_upload_with(settings: Settings) -> bool:
    """Return whether a person with these settings may upload files: on a shared server, only
    editors."""
    return not (settings.is_shared and settings.read_only)


def is_enforced() -> bool:
    """Return whether this process serves a shared workspace behind access control, or serves
    nothing, as in a test of a page."""
    return ENFORCED.is_set() or not runtime.exists()

"""Accounts of a shared server, and what it allows. The server imports it before Streamlit runs, so
that nothing here is cached, and no page is imported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from threading import Event
from typing import Any

from streamlit import runtime

from core.base.config import Settings, load_settings
from core.runs.workspace import Person, person_of

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
    if (
        user.get("is_logged_in") is not True
        or not isinstance(email, str)
        or user.get("email_verified") is False
    ):
        return None
    return Account(email, name if isinstance(name, str) else "")


def may_upload_with(settings: Settings) -> bool:
    """Return whether a person with these settings may upload files: on a shared server, only
    editors."""
    return not (settings.is_shared and settings.read_only)


def is_enforced() -> bool:
    """Return whether this process serves a shared workspace behind access control, or serves
    nothing, as in a test of a page."""
    return ENFORCED.is_set() or not runtime.exists()

"""Who signed in at a browser, as the provider's signed cookie says, and who that is here now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.actions.workspace import Person, person_of
from core.config import Settings, load_settings


@dataclass(frozen=True, slots=True)
class Account:
    """An account whose provider does not call its address unverified."""

    email: str
    name: str = ""

    def person(self) -> Person | None:
        """The person with the role that the environment or the file of secrets gives the address now; None without a role.

        Raise InputError if that file cannot be read.
        """
        return person_of(load_settings(), self.email, self.name)


def account_of(user: Mapping[str, Any]) -> Account | None:
    """The account that Streamlit says is signed in; None if nobody is, or not with a verified address."""
    email, name = user.get("email"), user.get("name")
    if user.get("is_logged_in") is not True or not isinstance(email, str) or user.get("email_verified") is False:
        return None
    return Account(email, name if isinstance(name, str) else "")


def may_upload(settings: Settings) -> bool:
    """Return whether somebody with these settings may hand files to the server: on a shared one only who may change something."""
    return not (settings.is_shared and settings.read_only)

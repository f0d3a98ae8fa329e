"""Who is at a browser, from what a provider says of them, and whether they may hand files to the server."""

from __future__ import annotations

from collections.abc import Mapping

from core.actions.workspace import Person, person_of
from core.config import Settings


def person_of_claims(settings: Settings, claims: Mapping[str, object]) -> Person | None:
    """Return who signed in, if the settings give them a role and their provider does not say that the address is unverified."""
    email, name = claims.get("email"), claims.get("name")
    if claims.get("is_logged_in") is not True or not isinstance(email, str) or claims.get("email_verified") is False:
        return None
    return person_of(settings, email, name if isinstance(name, str) else "")


def may_upload(settings: Settings) -> bool:
    """Return whether somebody with these settings may upload files: on a shared server only who may change something."""
    return not (settings.is_shared and settings.read_only)

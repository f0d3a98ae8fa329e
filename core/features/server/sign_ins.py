"""The person signed in at a browser, by Streamlit's signed cookie, their present role, and
sign-outs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from streamlit.auth_util import get_origin_from_redirect_uri
from streamlit.web.server.starlette import starlette_websocket as websocket
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME

from core.base.config import Settings, load_settings
from core.base.errors import InputError
from core.base.hashes import sha256_of
from core.base.log import record_error
from core.runs.workspace import Person, person_of


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


SIGNED_IN = USER_COOKIE_NAME  # a long one has further parts
MOST_SIGNED_OUT = 10_000  # cookies that are remembered
# hashes of cookies, oldest first; Streamlit itself only asks the browser to delete them
_SIGNED_OUT: dict[str, None] = {}


def sign_out(cookies: Mapping[str, str]) -> None:
    """Invalidate a browser's cookie from now on, in every tab and copy."""
    _SIGNED_OUT[_hash(cookies)] = None
    while len(_SIGNED_OUT) > MOST_SIGNED_OUT:
        _SIGNED_OUT.pop(next(iter(_SIGNED_OUT)))


def claims_at(cookies: Mapping[str, str]) -> dict[str, Any]:
    """Return the provider's claims about the signed-in person; none without a cookie, with a
    forged, expired or foreign one, and after a sign-out.
    """
    origin = get_origin_from_redirect_uri()
    if not origin or _hash(cookies) in _SIGNED_OUT:
        return {}
    cookie = websocket._get_signed_cookie_with_chunks(dict(cookies), SIGNED_IN)
    return websocket._parse_decoded_user_cookie(cookie, origin) if cookie else {}


def person_at(cookies: Mapping[str, str]) -> Person | None:
    """Return the signed-in person with a role; None without one, and while the file of secrets
    cannot be read."""
    account = account_of(claims_at(cookies))
    return None if account is None else person_of_account(account)


def person_of_account(account: Account) -> Person | None:
    """Return the person with the account's present role; None without one, and while the roles
    cannot be read."""
    try:
        return account.person()
    except InputError as error:
        record_error("the roles", error)
        return None


def _hash(cookies: Mapping[str, str]) -> str:
    return sha256_of(cookies.get(SIGNED_IN, ""))


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


def may_upload(settings: Settings) -> bool:
    """Return whether a person with these settings may upload files: on a shared server, only
    editors."""
    return not (settings.is_shared and settings.read_only)

"""The person signed in at a browser, by Streamlit's signed cookie, their present role, and
sign-outs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamlit.auth_util import get_origin_from_redirect_uri
from streamlit.web.server.starlette import starlette_websocket as websocket
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME

from core.base.errors import InputError
from core.base.hashes import sha256_of
from core.base.log import record_error
from core.runs.workspace import Person
from core.ui.sign_in import Account, account_of

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

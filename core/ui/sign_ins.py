"""Who is signed in at a browser, by the cookie that Streamlit signed, and who has signed out since."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from streamlit.auth_util import get_origin_from_redirect_uri
from streamlit.web.server.starlette import starlette_websocket as websocket
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME

from core.actions.workspace import Person
from core.errors import InputError
from core.log import record_error
from core.ui.shared.account import Account, account_of

SIGNED_IN = USER_COOKIE_NAME  # a long one has further parts
MOST_SIGNED_OUT = 10_000  # cookies that are remembered
_SIGNED_OUT: dict[str, None] = {}  # hashes of cookies, the oldest first; Streamlit itself only asks the browser to forget them


def sign_out(cookies: Mapping[str, str]) -> None:
    """Let a browser's cookie count for nothing from now on, in whichever tab or copy."""
    _SIGNED_OUT[_hash(cookies)] = None
    while len(_SIGNED_OUT) > MOST_SIGNED_OUT:
        _SIGNED_OUT.pop(next(iter(_SIGNED_OUT)))


def claims_at(cookies: Mapping[str, str]) -> dict[str, Any]:
    """Return what the provider said of who signed in; nothing without a cookie, if it is forged, too old or another server's, and
    after a sign-out."""
    origin = get_origin_from_redirect_uri()
    if not origin or _hash(cookies) in _SIGNED_OUT:
        return {}
    cookie = websocket._get_signed_cookie_with_chunks(dict(cookies), SIGNED_IN)
    return websocket._parse_decoded_user_cookie(cookie, origin) if cookie else {}


def person_at(cookies: Mapping[str, str]) -> Person | None:
    """Return who is signed in and has a role now; nobody while the file of secrets cannot be read."""
    account = account_of(claims_at(cookies))
    return None if account is None else person_of_account(account)


def person_of_account(account: Account) -> Person | None:
    """Return the person with the role that an account has now; None without one, and while the roles cannot be read."""
    try:
        return account.person()
    except InputError as error:
        record_error("the roles", error)
        return None


def _hash(cookies: Mapping[str, str]) -> str:
    return sha256(cookies.get(SIGNED_IN, "").encode()).hexdigest()

"""A sign-out holds: for every copy and spelling of the cookie, over a restart, and whatever others send."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from core.base.config import Settings
from core.features.server import access
from core.features.server.access import SIGNED_IN, SignOuts, claims_at, sign_out
from core.ui.sign_in import account_of
from tests.ui.page_client import COOKIE_SECRET, cookie_of

ADDRESS, ADA, EVE = "http://127.0.0.1:8641", "ada@lab.example", "eve@lab.example"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of sign-outs of a server with a sign-in."""
    found = Settings(workspace=tmp_path).data / "signed_out.json"
    found.parent.mkdir(parents=True, exist_ok=True)
    monkeypatch.setattr(access, "get_origin_from_redirect_uri", lambda: ADDRESS)
    for module in (access, access.websocket):
        monkeypatch.setattr(module, "get_cookie_secret", lambda: COOKIE_SECRET)
    monkeypatch.setattr(access, "_sign_outs", SignOuts(found))
    return found


def signed_in(cookie: str) -> bool:
    return bool(claims_at({SIGNED_IN: cookie}))


@pytest.mark.usefixtures("file")
def test_earlier_sign_ins_of_the_person_end_and_no_other() -> None:
    cookie, elsewhere, later = (cookie_of(ADDRESS, ADA, age_s=age) for age in (60, 90, 10))
    others = cookie_of(ADDRESS, EVE, age_s=70)
    sign_out({SIGNED_IN: cookie})
    assert [signed_in(each) for each in (cookie, elsewhere, later, others)] == [
        False,
        False,
        True,
        True,
    ]


@pytest.mark.usefixtures("file")
@pytest.mark.parametrize("email", ["", "*", "everybody", "address"])
def test_an_odd_address_ends_nobody_elses(email: str) -> None:
    ada = cookie_of(ADDRESS, ADA, age_s=60)
    sign_out({SIGNED_IN: cookie_of(ADDRESS, email, age_s=10)})
    assert signed_in(ada)


def test_it_outlives_a_restart(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cookie = cookie_of(ADDRESS, ADA, age_s=60)
    sign_out({SIGNED_IN: cookie})
    monkeypatch.setattr(access, "_sign_outs", SignOuts(file))
    assert not signed_in(cookie)


def test_nobody_fills_the_file_or_pushes_somebody_out_of_it(file: Path) -> None:
    cookie = cookie_of(ADDRESS, ADA, age_s=60)
    sign_out({SIGNED_IN: cookie})
    size = file.stat().st_size
    for i in range(10_001):
        sign_out({SIGNED_IN: f"x{i}"})
    sign_out({SIGNED_IN: cookie_of("http://elsewhere", EVE)})
    assert not signed_in(cookie)
    assert file.stat().st_size == size


@pytest.mark.parametrize(
    "spell",
    [
        lambda cookie: cookie + "=",
        lambda cookie: cookie + "\n",
        lambda cookie: f" {cookie}",
        lambda cookie: f'"{cookie}"',
        lambda cookie: cookie[:-4] + "~" + cookie[-4:],
        # the last character holds two bits that the decoder does not look at
        lambda cookie: cookie[:-1] + chr(ord(cookie[-1]) + 1),
    ],
)
@pytest.mark.usefixtures("file")
def test_another_spelling_is_no_cookie(spell: Any) -> None:
    cookie = cookie_of(ADDRESS, ADA, age_s=60)
    assert signed_in(cookie)
    assert not signed_in(spell(cookie))


def test_after_damage_everybody_signs_in_again_once(file: Path) -> None:
    file.write_text("{")
    for found in (SignOuts(file), SignOuts(file)):  # the second finds what the first wrote
        assert found.ended(f"address {ADA}", time.time() - 1)
        assert not found.ended(f"address {ADA}", time.time() + 1)


@pytest.mark.parametrize("said", [False, None, 0, 1, "false", "False", "no", "TRUE", [True], {}])
def test_only_true_is_verified(said: object) -> None:
    user = {"is_logged_in": True, "email": ADA}
    assert account_of({**user, "email_verified": said}) is None


@pytest.mark.parametrize("said", [{}, {"email_verified": True}, {"email_verified": "true"}])
def test_true_is_verified_and_nothing_said_is_no_doubt(said: dict[str, object]) -> None:
    account = account_of({"is_logged_in": True, "email": ADA, **said})
    assert account.email == ADA

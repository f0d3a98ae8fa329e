"""A local OpenID provider, and the secrets of an app whose people sign in there."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.ui.conftest import settle

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.ui.serving import Server


@contextmanager
def providing(people: Mapping[str, Mapping[str, object]], folder: Path) -> Iterator[Path]:
    """The file of secrets of an app whose provider knows these people: what it says of each, by the name of their button."""
    provider = pytest.importorskip("oidc_provider_mock")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    users = [provider.User(sub=name, claims=dict(claims)) for name, claims in people.items()]
    with provider.run_server_in_thread(user_claims=users) as server:
        file = folder / "secrets.toml"
        file.write_text(
            f"""[auth]
            redirect_uri = "http://127.0.0.1:{{port}}/oauth2callback"
            cookie_secret = "a-secret-of-a-test-that-nobody-else-knows"
            client_id = "perturbdesk"
            client_secret = "of the test"
            server_metadata_url = "http://localhost:{server.server_port}/.well-known/openid-configuration"
            """
        )
        yield file


def sign_in(page: Page, server: Server, name: str, address: str = "") -> None:
    """Sign in at the provider, from a page's address; the page that the app shows then is drawn."""
    page.goto(address or server.url())
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name=name, exact=True).click()
    page.wait_for_url(f"{server.address}/**")
    settle(page)

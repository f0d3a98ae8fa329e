"""What the server changes on its way to a browser."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from core.features.server.access import SIGNED_IN
from core.features.server.server import (
    OPENED,
    add_base_script,
    add_security_headers,
    return_after_sign_in,
)


def test_a_file_of_html_arrives_as_it_is() -> None:
    """A figure that is downloaded as HTML has a head too."""
    html = "<html><head><title>a figure</title></head><body></body></html>"
    answer = TestClient(add_base_script(HTMLResponse(html))).get(
        "/media/figure.html", headers={"accept": "text/html"}
    )
    assert answer.text == html
    assert int(answer.headers["content-length"]) == len(html)


def test_cookies_are_kept_to_https_where_others_use_it() -> None:
    answer = HTMLResponse("")
    answer.set_cookie("who", "ada", httponly=True)
    for address, expected in (
        ("https://desk.example.org", True),
        ("http://127.0.0.1:8501", False),
        ("", False),
    ):
        got = TestClient(add_security_headers(answer, address=address)).get("/")
        assert got.headers["set-cookie"].endswith("; Secure") == expected
        assert "default-src 'self'" in got.headers["content-security-policy"]


@pytest.fixture
def visitor() -> TestClient:
    """A browser before an app whose pages are HTML and whose sign-in leads to its first page."""

    async def page(request: Request) -> Response:
        return HTMLResponse(request.url.path)

    async def signed_in(_: Request) -> Response:
        return RedirectResponse("/desk/", 302)

    app = Starlette(
        routes=[Route("/desk/oauth2callback", signed_in), Route("/desk/{page:path}", page)]
    )
    return TestClient(return_after_sign_in(app), follow_redirects=False)


def test_who_signs_in_is_led_back_to_the_address_that_they_opened(visitor: TestClient) -> None:
    visitor.get("/desk/debates?run=a%2Fb&row=Pa_Gb")
    assert (
        visitor.get("/desk/oauth2callback?code=1").headers["location"]
        == "/desk/debates?run=a%2Fb&row=Pa_Gb"
    )
    assert visitor.get("/desk/oauth2callback?code=1").headers["location"] == "/desk/"  # once


def test_a_page_opened_after_the_sign_in_is_not_kept(visitor: TestClient) -> None:
    visitor.cookies.set(SIGNED_IN, "signed")
    assert "set-cookie" not in visitor.get("/desk/debates").headers


@pytest.mark.parametrize(
    "address",
    [
        "//evil.example/",
        "https://evil.example/",
        "/\\evil.example/",
        "/a\r\nSet-Cookie: b",
        "desk",
        "/ä",
    ],
)
def test_a_cookie_leads_to_no_other_server(visitor: TestClient, address: str) -> None:
    visitor.cookies.set(OPENED, quote(address))
    assert visitor.get("/desk/oauth2callback?code=1").headers["location"] == "/desk/"

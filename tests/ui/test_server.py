"""What the server changes on its way to a browser."""

from __future__ import annotations

from starlette.responses import HTMLResponse
from starlette.testclient import TestClient

from core.ui.server import BaseScript, SecurityHeaders


def test_a_file_of_html_arrives_as_it_is() -> None:
    """A figure that is downloaded as HTML has a head too."""
    html = "<html><head><title>a figure</title></head><body></body></html>"
    answer = TestClient(BaseScript(HTMLResponse(html))).get("/media/figure.html", headers={"accept": "text/html"})
    assert answer.text == html
    assert int(answer.headers["content-length"]) == len(html)


def test_cookies_are_kept_to_https_where_others_use_it() -> None:
    answer = HTMLResponse("")
    answer.set_cookie("who", "ada", httponly=True)
    for base_url, expected in (("https://desk.example.org", True), ("http://127.0.0.1:8501", False), ("", False)):
        got = TestClient(SecurityHeaders(answer, base_url=base_url)).get("/")
        assert got.headers["set-cookie"].endswith("; Secure") == expected
        assert "default-src 'self'" in got.headers["content-security-policy"]

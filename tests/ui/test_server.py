"""What the server changes on its way to a browser."""

from __future__ import annotations

from starlette.responses import HTMLResponse
from starlette.testclient import TestClient

from core.ui.server import BaseScript


def test_a_file_of_html_arrives_as_it_is() -> None:
    """A figure that is downloaded as HTML has a head too."""
    html = "<html><head><title>a figure</title></head><body></body></html>"
    answer = TestClient(BaseScript(HTMLResponse(html))).get("/media/figure.html", headers={"accept": "text/html"})
    assert answer.text == html
    assert int(answer.headers["content-length"]) == len(html)

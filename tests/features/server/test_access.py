"""Who reaches what of a shared server, over HTTP and websockets as they are."""

from __future__ import annotations

import re
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote

import pytest
from websockets.exceptions import InvalidStatus

from core.runs.workspace import Workspace
from tests.ui.serving import PLAIN, Server, serving
from tests.ui.shared_server import ADA, BOB, CARL, write_roles
from tests.ui.strangers import MAL, Visitor, exchange, noise, rss_mb, run_script

UPLOAD = "/_stcore/upload_file/a-session/a-file"


@pytest.fixture
def server(shared_server: Server) -> Server:
    return shared_server


def strangers(server: Server) -> dict[str, Visitor]:
    """Everybody whom the server has no reason to believe."""
    return {
        "nobody": Visitor(server),
        "a forged cookie": Visitor(server, ADA, secret="guessed"),
        "no role": Visitor(server, MAL),
        "not verified": Visitor(server, ADA, verified=False),
    }


@pytest.mark.soak
def test_nobody_gets_more_than_the_sign_in_needs(server: Server) -> None:
    for name, visitor in strangers(server).items():
        for path in ("/", "/debates", "/_stcore/health", "/_stcore/host-config", "/favicon.png"):
            assert visitor.ask("GET", path)[0] == 200, (name, path)
        for path in (
            "/_stcore/metrics",
            "/media/a.csv",
            "/component/a/b.js",
            "/_stcore/bidi-components/a/b.js",
        ):
            assert visitor.ask("GET", path)[0] == 401, (name, path)
        for path in ("/_stcore/script-health-check", "/_stcore/nothing"):
            assert b"<!doctype html>" in visitor.ask("GET", path)[1].lower(), (
                name,
                path,
            )  # the page that all addresses have
        for path in (
            "/_stcore/agent/mcp",
            "/_stcore/agent/interact",
            "/_stcore/agent/openapi.json",
        ):
            assert {visitor.ask(method, path)[0] for method in ("GET", "POST")} == {401}, (
                name,
                path,
            )


def test_who_has_a_role_gets_what_pages_need(server: Server) -> None:
    for email in (ADA, BOB):
        visitor = Visitor(server, email)
        assert b"active_sessions" in visitor.ask("GET", "/_stcore/metrics")[1]
        assert visitor.ask("GET", "/media/no-such-file.csv")[0] == 404
        assert visitor.ask("POST", "/_stcore/agent/mcp", b"{}")[0] == 403


@pytest.mark.parametrize("method", ["PUT", "POST", "PATCH", "DELETE", "OPTIONS", "TRACE"])
def test_nobody_sends_anything(server: Server, method: str) -> None:
    for path in (UPLOAD, "/", "/_stcore/health", "/_stcore/stream", "/media/a.csv"):
        assert Visitor(server).ask(method, path, b"x")[0] == 401, path


def test_no_spelling_of_an_address_leads_past_the_sign_in(server: Server) -> None:
    """Whatever the app makes of it, it is no upload and none of the metrics."""
    nobody = Visitor(server)
    spelled = [
        "/_stcore/%75pload_file/a/b",
        "/%5Fstcore/upload_file/a/b",
        "//_stcore/upload_file/a/b",
        "/x/../_stcore/upload_file/a/b",
    ]
    spelled += [
        "/_stcore/upload_file/a/b/",
        "/_stcore//upload_file/a/b",
        "/./_stcore/upload_file/a/b",
        "/_STCORE/upload_file/a/b",
    ]
    spelled += [
        "/_stcore/upload_file/a%2Fb/c",
        "/_stcore/upload_file/a/b?x=1",
        "/_stcore/upload_file/a/b;x",
        "/_stcore%2Fupload_file/a/b",
    ]
    for path in spelled:
        assert nobody.ask("PUT", path, b"x")[0] == 401, path
    for path in (
        "/%5Fstcore/metrics",
        "//_stcore/metrics",
        "/_stcore/metrics/",
        "/_stcore/x/../metrics",
        "/_stcore/metrics%00",
    ):
        status, body = nobody.ask("GET", path)
        assert status in (301, 400, 401) or b"<!doctype html>" in body.lower(), path
        assert b"active_sessions" not in body, path


def test_a_request_behind_another_on_one_connection_is_held_against_the_same(
    server: Server,
) -> None:
    nobody = Visitor(server)
    host = "Host: {}:{}\r\n".format(*nobody.place).encode()
    first = b"GET /_stcore/health HTTP/1.1\r\n" + host + b"\r\n"
    second = b"GET /_stcore/metrics HTTP/1.1\r\n" + host + b"Connection: close\r\n\r\n"
    answer = exchange(nobody.place, first + second)
    assert re.findall(rb"HTTP/1.1 (\d+)", answer) == [b"200", b"401"]


def test_another_host_is_refused(server: Server) -> None:
    for host in ("evil.example", "127.0.0.1.evil.example", "127.0.0.1@evil.example"):
        assert Visitor(server, ADA).ask("GET", "/", Host=host)[0] == 403, host
    assert Visitor(server).ask("GET", "/_stcore/health", Host="a-monitor")[0] == 200


def test_a_websocket_is_opened_by_the_servers_own_page_alone(server: Server) -> None:
    ada = Visitor(server, ADA)
    host, port = ada.place
    foreign = [
        None,
        "null",
        "",
        f"https://{host}:{port}",
        f"http://{host}",
        f"http://{host}:{port + 1}",
        f"http://localhost:{port}",
    ]
    foreign += [
        f"http://{host}.:{port}",
        f"http://{host}:{port}/",
        f"http://{host}:{port}.evil.example",
        f"HTTP://{host}:{port}",
    ]
    foreign += [
        f"http://evil.example:{port}",
        f"http://{host}:{port}@evil.example",
        f"http://desk.{host}:{port}",
    ]
    for origin in foreign:
        with pytest.raises(InvalidStatus) as refused, ada.socket(Origin=origin):
            pass
        assert refused.value.response.status_code == 403, origin
    for path in ("/", "/_stcore/stream/", "/debates", "/_stcore/upload_file/a/b"):
        with pytest.raises(InvalidStatus) as refused, ada.socket(path):
            pass
        assert refused.value.response.status_code == 403, path
    with ada.session() as session:
        assert session


def test_an_editor_uploads_into_a_session_of_their_own(server: Server) -> None:
    ada, carl = Visitor(server, ADA), Visitor(server, CARL)
    with ada.session() as own, carl.session() as other:
        assert ada.upload(own, b"a file") == 204
        assert ada.upload(own, iter([b"not a form"])) == 400
        assert ada.upload(other, b"a file") == 403
        assert ada.upload(quote("../../etc/passwd", safe=""), b"a file") == 403
        assert ada.upload(own, b"", method="DELETE") == 204
        assert carl.upload(own, b"", method="DELETE") == 403
        assert ada.upload(own, b"a file", **{"X-Xsrftoken": "2|00|00|1"}) == 403
        assert Visitor(server).upload(own, b"a file") == 401
    assert ada.upload(own, b"a file") == 403


def test_a_reader_uploads_nothing(server: Server) -> None:
    bob = Visitor(server, BOB)
    with bob.session() as session:
        assert bob.upload(session, b"a file") == 403


def test_bodies_that_nobody_asked_for_take_no_memory(server: Server) -> None:
    server.wait_until_prepared()  # which takes memory
    with Visitor(server).session() as session:
        sent, before = noise(50), rss_mb(server)
        for visitor in (*strangers(server).values(), Visitor(server, BOB)):
            assert visitor.upload(session, sent) in (401, 403)
            assert visitor.ask("POST", "/_stcore/agent/mcp", sent)[0] in (401, 403)
        assert rss_mb(server) - before < 20


def test_cookies_have_their_flags(server: Server) -> None:
    """The token against forged requests is one that the page's own scripts read and send back."""
    connection = HTTPConnection(*Visitor(server).place, timeout=30)
    cookies = []
    for path in ("/_stcore/health", "/rows"):
        connection.request("GET", path, headers={"Accept": "text/html"})
        answer = connection.getresponse()
        answer.read()
        cookies += [value for name, value in answer.getheaders() if name.lower() == "set-cookie"]
    connection.close()
    assert {cookie.partition("=")[0] for cookie in cookies} == {
        "_streamlit_xsrf",
        "opened_before_sign_in",
    }
    for cookie in cookies:
        assert "SameSite=Lax" in cookie
        assert "HttpOnly" in cookie or cookie.startswith("_streamlit_xsrf=")


@pytest.mark.soak
def test_streamlit_alone_serves_no_shared_workspace(
    small_workspace: Workspace, tmp_path: Path
) -> None:
    """It says why, and takes no upload either."""
    write_roles(tmp_path / "secrets.toml")
    with serving(
        small_workspace.settings.workspace,
        PLAIN,
        PERTURBDESK_SECRETS_FILE=str(tmp_path / "secrets.toml"),
    ) as plain:
        visitor = Visitor(plain, ADA)
        with visitor.socket() as opened:
            session, texts = run_script(opened)
            assert "`streamlit run app.py` is for your own machine only" in texts
            assert "Sign" not in texts
            assert visitor.upload(session, b"a file") == 413

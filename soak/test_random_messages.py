"""Random messages over the websocket and random HTTP requests, as a reader, as nobody, and as an editor: 5,000 of each.

Only the editor changes anything, under their name. Nobody is sent a secret, and no request leaves with the key for anybody else.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import string
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import psutil
import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.exceptions import ConnectionClosed

from soak.conftest import Record
from tests.ui.change_watch import API_KEY, changes_since
from tests.ui.page_client import CLIENT_SECRET, COOKIE_SECRET, PageClient, browsing, state_of
from tests.ui.serving import WAIT_S
from tests.ui.shared_server import ADA, EVE, SharedServer, sharing
from tests.ui.widget_walk import DOES_SOMETHING, PAGES, Step, walk

COUNT = int(
    os.environ.get("PERTURBDESK_SOAK_COUNT", "5000")
)  # of messages, and of requests, for each of the three
HEARTBEATS, HEARTBEAT_S = 200, 0.3
SESSION = 50  # messages before the browser opens another session
MOST_MB = 1024
SEED = 0
SECRETS = (API_KEY.encode(), COOKIE_SECRET.encode(), CLIENT_SECRET.encode())
HOSTILE = (
    "",
    "'",
    "../../etc/passwd",
    "<script>alert(1)</script>",
    "\0",
    "１",
    "-1",
    "1e999",
    "null",
    "[]",
    "{}",
    "A" * 10_000,
)
PATHS = (
    "/",
    "/rows",
    "/_stcore/health",
    "/_stcore/host-config",
    "/_stcore/metrics",
    "/_stcore/script-health-check",
)
PATHS += (
    "/_stcore/stream",
    "/_stcore/upload_file/{}/{}",
    "/_stcore/agent/interact",
    "/_stcore/agent/openapi.json",
)
PATHS += (
    "/_stcore/bidi-components/{}/{}",
    "/media/{}",
    "/media/{}.csv",
    "/component/{}/index.html",
    "/app/static/{}",
)
PATHS += (
    "/auth/login?provider={}",
    "/oauth2callback?state={}&code={}",
    "/static/{}",
    "/.streamlit/secrets.toml",
    "/{}",
)
VALUES = (
    "trigger_value",
    "bool_value",
    "double_value",
    "int_value",
    "string_value",
    "json_value",
    "json_trigger",
)
OTHERS = (
    "clear_cache",
    "load_git_info",
    "set_run_on_save",
    "stop_script",
    "app_heartbeat",
    "install",
    "urls",
)
FORGED = ("null", "bytes=0-", EVE)  # values of headers
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedServer]:
    with sharing(tmp_path_factory.mktemp("shared")) as server:
        yield server
    for process in psutil.process_iter(["cmdline"]):  # what the editor started
        if str(server.workspace.settings.workspace) in (process.info["cmdline"] or []):
            process.kill()


@pytest.fixture(scope="module")
def steps(shared: SharedServer) -> Sequence[Step]:
    """Every widget that an editor's pages have."""
    with browsing(shared.address, shared.cookie(ADA)) as editor:
        found = list(walk(editor, PAGES, f"run={shared.run.id}"))
    return [step for step in found if step.widget.label not in ("Sign out", "Sign in")]


@dataclass
class Sent:
    """What was sent and came back. kinds: how often each kind of message or each status."""

    kinds: Counter[str] = field(default_factory=Counter)
    leaks: list[str] = field(default_factory=list)
    ended: int = 0

    def look_at(self, received: bytes | bytearray, what: str) -> None:
        self.leaks += [what for secret in SECRETS if secret in received]


Message = tuple[str, bytes]  # its kind and its bytes


@dataclass
class Sender:
    """Makes up what somebody sends."""

    steps: Sequence[Step]
    draw: random.Random
    files: list[str] = field(default_factory=list)
    fragments: list[str] = field(default_factory=list)
    pages: list[str] = field(default_factory=list)

    def text(self) -> str:
        length = self.draw.choice((1, 8, 40, 400))
        return self.draw.choice((*HOSTILE, "".join(self.draw.choices(string.printable, k=length))))

    def state(self, step: Step) -> WidgetState:
        """A value for a widget: one that its browser could send, or one of another type, or anything."""
        if self.draw.random() < 0.5:
            return state_of(step.widget, self.text())
        state = WidgetState(
            id=self.draw.choices(
                (step.widget.id, step.widget.id[:-3], "_context", self.text()), (60, 38, 1, 1)
            )[0]
        )
        kind = self.draw.choice(VALUES)
        if kind in ("trigger_value", "bool_value"):
            setattr(state, kind, True)
        elif kind == "double_value":
            state.double_value = self.draw.choice((float("nan"), float("inf"), -1e308, 0.5))
        elif kind == "int_value":
            state.int_value = self.draw.choice((-(2**62), 0, 2**62))
        elif kind == "json_trigger":
            state.json_trigger_value = json.dumps([{"event": self.text(), "value": self.text()}])
        elif kind == "json_value":
            answer = {"n": 1, "key": self.text(), "act": "answer"}
            state.json_value = self.draw.choice((self.text(), json.dumps({"items": [answer]})))
        else:
            state.string_value = self.text()
        return state

    def message(self, client: PageClient) -> Message:
        """Return a message, and its kind."""
        makers = (
            (60, self._widgets),
            (10, self._page),
            (10, self._file),
            (5, self._other),
            (1, self._bytes),
        )
        make = self.draw.choices([each for _, each in makers], [weight for weight, _ in makers])[0]
        return make(client)

    def _widgets(self, _: PageClient) -> Message:
        chosen = self.draw.choices(self.steps, k=self.draw.choice((1, 1, 2, 5)))
        place = chosen[0].place
        message = BackMsg()
        message.rerun_script.page_name = place.page
        message.rerun_script.query_string = place.query
        if self.draw.random() < 0.3:
            message.rerun_script.fragment_id = self.draw.choice(
                (chosen[0].widget.fragment, *self.fragments[-20:], self.text())
            )
        before = place.states if self.draw.random() < 0.8 else ()
        fields = (
            [state_of(each, self.text()) for each in chosen[0].fields]
            if self.draw.random() < 0.3
            else []
        )
        message.rerun_script.widget_states.widgets.extend(
            [*before, *fields, *(self.state(each) for each in chosen)]
        )
        return "widgets", message.SerializeToString()

    def _page(self, _: PageClient) -> Message:
        message = BackMsg()
        message.rerun_script.page_script_hash = self.draw.choice(("", *self.pages, self.text()))
        message.rerun_script.page_name = self.draw.choice((*PAGES, self.text()))
        message.rerun_script.query_string = (
            f"{self.draw.choice(('run', 'tab', 'row', 'asked', 'q', 'with'))}={self.text()}"
        )
        return "page", message.SerializeToString()

    def _file(self, client: PageClient) -> Message:
        return "file", client.file_request(
            self.draw.choice((*self.files[-50:], self.text()))
        ).SerializeToString()

    def _other(self, client: PageClient) -> Message:
        message = BackMsg()
        kind = self.draw.choice(OTHERS)
        if kind == "install":
            message.backend_operation_request.install_skills.SetInParent()
            message.backend_operation_request.session_id = client.session
        elif kind == "urls":
            message.file_urls_request.file_names.append(self.text())
            message.file_urls_request.session_id = client.session
        else:
            setattr(message, kind, True)
        return kind, message.SerializeToString()

    def _bytes(self, _: PageClient) -> Message:
        return "bytes", self.draw.randbytes(self.draw.choice((1, 10, 1000)))

    def remember(self, client: PageClient) -> None:
        """Draw a page and note what it names: its parts, its files, the other pages."""
        drawn = client.run(self.draw.choice(PAGES))
        self.fragments += drawn.fragments
        self.files += [
            each.proto.deferred_file_id for each in drawn.widgets if each.kind == "download_button"
        ]
        self.pages = [
            each.page_script_hash
            for message in drawn.messages
            for each in message.navigation.app_pages
        ] or self.pages


def drain(client: PageClient) -> None:
    """Read what was sent so far: until the server answers a heartbeat. It forgets an answer when a script begins meanwhile."""
    for _ in range(HEARTBEATS):
        with suppress(TimeoutError):
            client.ask(BackMsg(app_heartbeat=True), "heartbeat_ack", HEARTBEAT_S)
            return
    raise TimeoutError(f"no answer to {HEARTBEATS} heartbeats")


def send_messages(shared: SharedServer, cookie: str, sender: Sender, count: int) -> Sent:
    sent = Sent()
    while sum(sent.kinds.values()) < count:
        with browsing(shared.address, cookie) as client:
            try:
                sender.remember(client)
                for _ in range(SESSION):
                    kind, content = sender.message(client)
                    sent.kinds[kind] += 1
                    client.send_bytes(content)
                    drain(client)
                    if sender.draw.random() < 0.3:
                        time.sleep(
                            0.05
                        )  # so that the script gets on before the next message ends it
            except ConnectionClosed:  # it was no message at all
                sent.ended += 1
            sent.look_at(client.received, "websocket")
    return sent


def send_requests(shared: SharedServer, cookie: str, sender: Sender, count: int) -> Sent:
    sent, draw, place = Sent(), sender.draw, urlsplit(shared.address)
    with browsing(shared.address, cookie) as client:
        client.run()
        for _ in range(count):
            known = (client.session, *sender.files[-5:], "x", "..%2f..%2fsecrets.toml", "%00")
            names = draw.choices(known, k=2)
            path = draw.choice(PATHS).format(*names)
            accepted = draw.choice(("*/*", "text/html", "a" * 2000))
            headers = {"Cookie": client.cookies, "X-Xsrftoken": client.xsrf, "Accept": accepted}
            headers |= {
                draw.choice(
                    ("Origin", "X-Forwarded-Host", "Range", "X-Streamlit-User")
                ): draw.choice(FORGED)
            }
            connection = http.client.HTTPConnection(
                place.hostname or "", place.port, timeout=WAIT_S
            )
            try:
                connection.request(
                    draw.choice(METHODS),
                    path,
                    draw.randbytes(draw.choice((0, 10, 10_000))),
                    headers,
                )
                response = connection.getresponse()
                content = response.read() + str(response.headers).encode()
                sent.kinds[str(response.status)] += 1
            except (http.client.HTTPException, ConnectionError) as error:
                content = b""
                sent.kinds[type(error).__name__] += 1
            finally:
                connection.close()
            sent.look_at(content, path)
    return sent


def rss_mb(shared: SharedServer) -> float:
    return float(psutil.Process(shared.server.process.pid).memory_info().rss / 2**20)


def assert_well(shared: SharedServer, *sent: Sent) -> None:
    """The server answers, has not grown too much, and has told no secret."""
    assert not [leak for each in sent for leak in each.leaks]
    assert rss_mb(shared) < MOST_MB
    with browsing(shared.address) as client:
        assert client.get("/_stcore/health") == (200, b"ok")
        assert [each.label for each in client.run("rows").widgets] == ["Sign in"]


def test_a_reader_uses_every_widget(
    shared: SharedServer, steps: Sequence[Step], record: Record
) -> None:
    """Each as its browser would, on every page, tab and folded part, after each choice that shows others."""
    before, n = shared.snapshot(), 0
    for step in [step for step in steps if step.widget.kind in DOES_SOMETHING]:
        with browsing(shared.address, shared.cookie(EVE)) as client:
            for states in (step.place.states, *step.uses(shared.model.address)):
                client.run(step.place.page, step.place.query, states)
                n += 1
            assert not [secret for secret in SECRETS if secret in client.received]
    assert shared.snapshot() == before
    labels = sorted(
        {step.widget.label for step in steps if step.widget.kind == "button" and step.widget.label}
    )
    record(widgets=len(steps), messages=n, buttons=labels)


@pytest.mark.parametrize("who", ["a reader", "nobody", "an editor"])
def test_random_messages_and_requests(
    shared: SharedServer, steps: Sequence[Step], record: Record, who: str
) -> None:
    email = {"a reader": EVE, "nobody": "", "an editor": ADA}[who]
    cookie = shared.cookie(email) if email else ""
    sender, before = Sender(steps, random.Random(f"{SEED} {who}")), shared.snapshot()
    with_key = len(shared.model.with_key())
    messages = send_messages(shared, cookie, sender, COUNT)
    requests = send_requests(shared, cookie, sender, COUNT)
    assert_well(shared, messages, requests)
    n = len(before.tables["trail"])
    if who == "an editor":
        assert {author for author, _ in changes_since(shared.workspace, n)} == {ADA}
    else:
        assert shared.snapshot() == before
    record(
        messages=dict(messages.kinds),
        ended=messages.ended,
        requests=dict(requests.kinds),
        changes=dict(Counter(action for _, action in changes_since(shared.workspace, n))),
        asked_with_key=len(shared.model.with_key()) - with_key,
        rss_mb=round(rss_mb(shared)),
    )


def test_the_log_has_no_secret(shared: SharedServer) -> None:
    log = shared.server.log
    assert not [secret for secret in SECRETS if secret in log.read_bytes()]

"""Fetching against a loopback server: whole, cut, wrong, absent."""

from __future__ import annotations

import hashlib
import http.server
import json
import re
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from core.base.errors import InputError, Unreachable, WrongContent
from core.features.importing.fetch import RECORD, SOURCES, PublicFile, fetch

FIRST = bytes(range(256)) * 800  # 204,800 bytes: several chunks
SECOND = b"id,pert,gene\n"


@dataclass
class Server:
    """What the loopback server does, and what it was asked."""

    files: dict[str, bytes]
    base: str = ""
    status: int = 200
    cut_after: int | None = None
    length: bool = True
    asked: list[str] = field(default_factory=list)


def handler(server: Server) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.asked.append(self.path)
            found = server.files.get(self.path)
            status = 404 if found is None else server.status
            body = (found or b"") if status == 200 else b""
            self.send_response(status)
            if status == 302:
                self.send_header("Location", "/repo/second.csv")
            if server.length:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: server.cut_after])

        def log_message(self, *_args: object) -> None:
            pass

    return Handler


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server with two pinned files (group "pinned") and one that nobody pinned (group "open")."""
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.setenv(
        "HTTP_PROXY", "http://127.0.0.1:9"
    )  # which nobody may ask for what is on this machine
    state = Server({"/repo/first.bin": FIRST, "/repo/second.csv": SECOND})
    pinned = [
        PublicFile(path[1:], path.rsplit("/", 1)[1], hashlib.sha256(body).hexdigest())
        for path, body in state.files.items()
    ]
    monkeypatch.setitem(SOURCES, "pinned", tuple(pinned))
    monkeypatch.setitem(SOURCES, "open", (PublicFile("repo/second.csv", "second.csv"),))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler(state)) as listening:
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        state.base = f"http://127.0.0.1:{listening.server_port}"
        yield state
        listening.shutdown()
        thread.join()


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_files_arrive_whole_and_are_not_fetched_again(server: Server, tmp_path: Path) -> None:
    seen = []
    folder = tmp_path / "new" / "folder"
    paths = fetch(
        "pinned", folder, base=f"{server.base}/", progress=lambda *args: seen.append(args)
    )
    assert [path.read_bytes() for path in paths] == [FIRST, SECOND]
    assert names(folder) == {"first.bin", "second.csv"}
    steps = [done for name, done, total in seen if (name, total) == ("first.bin", len(FIRST))]
    assert steps == sorted(steps)
    assert steps[-1] == len(FIRST)

    assert fetch("pinned", folder, base=server.base) == paths
    assert server.asked == ["/repo/first.bin", "/repo/second.csv"]


def test_a_changed_file_is_fetched_again(server: Server, tmp_path: Path) -> None:
    (tmp_path / "second.csv").write_bytes(b"something else")
    assert fetch("pinned", tmp_path, base=server.base)[1].read_bytes() == SECOND


@pytest.mark.few(1)
@pytest.mark.parametrize("length", [True, False])
def test_a_cut_transfer_leaves_nothing(server: Server, tmp_path: Path, length: bool) -> None:
    server.cut_after, server.length = 150_000, length
    with pytest.raises(Unreachable if length else WrongContent, match=r"first\.bin"):
        fetch("pinned", tmp_path, base=server.base)
    assert names(tmp_path) == set()


@pytest.mark.parametrize(
    ("served", "message"),
    [
        (FIRST[:-1] + b"?", "SHA-256 [0-9a-f]{64}, expected [0-9a-f]{64}; nothing was kept"),
        (FIRST[:-1], "SHA-256"),  # whole, but too short
        (FIRST + b"?", "SHA-256"),
    ],
)
def test_other_bytes_than_pinned_are_not_kept(
    server: Server, tmp_path: Path, served: bytes, message: str
) -> None:
    server.files["/repo/first.bin"] = served
    with pytest.raises(WrongContent, match=f"{server.base}/repo/first.bin: {message}"):
        fetch("pinned", tmp_path, base=server.base)
    assert names(tmp_path) == set()


@pytest.mark.few(1)
@pytest.mark.parametrize("status", [302, 403, 404, 429, 500, 503])
def test_an_error_of_the_server_names_address_status_and_a_way_out(
    server: Server, tmp_path: Path, status: int
) -> None:
    server.status = status
    with pytest.raises(
        Unreachable, match=f"{server.base}/repo/first.bin: HTTP {status}.* by hand and `import` it"
    ):
        fetch("pinned", tmp_path, base=server.base)
    assert names(tmp_path) == set()


def test_a_missing_file_is_a_404(server: Server, tmp_path: Path) -> None:
    del server.files["/repo/second.csv"]
    with pytest.raises(Unreachable, match=r"second\.csv: HTTP 404"):
        fetch("pinned", tmp_path, base=server.base)
    assert names(tmp_path) == {"first.bin"}  # what came stays


def test_nobody_listening_names_the_address_and_a_way_out(tmp_path: Path) -> None:
    with socket.socket() as free:  # bound but not listening: connections are refused
        free.bind(("127.0.0.1", 0))
        base = f"http://127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(
            Unreachable, match=rf"{base}/genentech/.*/data/train\.csv: .*by hand and `import` it"
        ):
            fetch("challenge", tmp_path, base=base)


@pytest.mark.parametrize("base", ["gopher://127.0.0.1", "http://[", "no address"])
def test_an_address_that_is_none_is_unreachable(tmp_path: Path, base: str) -> None:
    with pytest.raises(Unreachable):
        fetch("challenge", tmp_path, base=base)


def test_files_that_nobody_pinned_are_held_to_their_first_fetch(
    server: Server, tmp_path: Path
) -> None:
    (path,) = fetch("open", tmp_path, base=server.base)
    assert json.loads((tmp_path / RECORD).read_text()) == {
        "second.csv": hashlib.sha256(SECOND).hexdigest()
    }
    fetch("open", tmp_path, base=server.base)
    assert len(server.asked) == 1

    path.unlink()
    server.files["/repo/second.csv"] = b"something else"
    with pytest.raises(WrongContent):
        fetch("open", tmp_path, base=server.base)
    assert names(tmp_path) == {RECORD}


@pytest.mark.parametrize("content", ["{", "[]"])
def test_a_damaged_record_says_what_to_do(server: Server, tmp_path: Path, content: str) -> None:
    (tmp_path / RECORD).write_text(content)
    with pytest.raises(InputError, match="delete it and fetch again"):
        fetch("open", tmp_path, base=server.base)


def test_an_unknown_group_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match="'weights', expected one of challenge, published, perturbqa"
    ):
        fetch("weights", tmp_path)


def test_a_folder_that_cannot_be_made_is_an_input_error(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        fetch("pinned", tmp_path / "file", base=server.base)


RUNS = {
    "track_b_sharp": 0.569,
    "track_b_knn_fusion": 0.606,
    "track_b_scgpt_fusion": 0.619,
    "track_b_scgpt_fusion_wdir07": 0.624,
    "track_b_scgpt_fusion_gf316": 0.621,
    "track_b_scgpt_fusion_sa": 0.622,
    "track_b_state_fusion": 0.623,
    "track_b_adversarial_blend": 0.558,
    "track_b_cross_fusion": 0.583,
    "track_b_adversarial_ens3": 0.551,
    "track_a_logprobs_train2499": None,
    "track_a_logprobs_train499": None,
}


def test_published_runs_have_their_names_and_public_scores() -> None:
    assert {
        file.file.removesuffix(".zip"): file.public_score for file in SOURCES["published"]
    } == RUNS


def test_perturbqa_has_two_tasks_for_five_lines() -> None:
    lines = ("k562", "rpe1", "hepg2", "jurkat", "k562_set")
    assert {file.file for file in SOURCES["perturbqa"]} == {
        f"{x}-{t}.csv" for x in lines for t in ("de", "dir")
    }


def test_every_file_is_pinned_to_a_revision_and_lands_on_its_own() -> None:
    for group, files in SOURCES.items():
        assert len({file.file for file in files}) == len(files)
        for file in files:
            assert re.fullmatch(r"[\w-]+/[\w-]+/[0-9a-f]{40}(/[\w.-]+)+", file.path)
            if (
                group != "perturbqa" and file.file != "track_a_logprobs_train499.zip"
            ):  # whose hash nobody published
                assert re.fullmatch(r"[0-9a-f]{64}", file.sha256 or "")

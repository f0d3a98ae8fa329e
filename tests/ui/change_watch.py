"""What somebody changed, started or sent: a workspace, the processes of its server and a model server before and after."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import psutil

from core.runs.workspace import Workspace
from core.store import changes
from tests.bundled import everything
from tests.fakes.http_server import ReceivedRequest, Response, json_response, serve_in_thread
from tests.ui.serving import Server

API_KEY = "sk-of-a-test-that-no-message-may-hold"
UNCOUNTED = re.compile(
    r"desk\.(log|duckdb).*"
)  # the server's own log; what the store holds is compared row by row


@dataclass
class ModelServer:
    """A server in the place of a model, and the requests that it got."""

    address: str = ""
    asked: list[ReceivedRequest] = field(default_factory=list)

    def with_key(self) -> list[str]:
        """The paths of the requests that brought the key."""
        return [each.path for each in self.asked if API_KEY in str(each.headers)]


@contextmanager
def counting() -> Iterator[ModelServer]:
    """A model server that answers everything with one model or one word."""
    server = ModelServer()

    async def answer(request: ReceivedRequest, _: object) -> Response:
        server.asked.append(request)
        if request.path.endswith("/models"):
            return json_response(
                200,
                {
                    "object": "list",
                    "data": [{"id": "scripted", "object": "model", "max_model_len": 32768}],
                },
            )
        message = {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "<answer>A</answer>"},
        }
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        return json_response(
            200,
            {
                "id": "1",
                "object": "chat.completion",
                "model": "scripted",
                "choices": [message],
                "usage": usage,
            },
        )

    with serve_in_thread(answer, "counting") as address:
        server.address = f"{address}/v1"
        yield server


@dataclass(frozen=True)
class Snapshot:
    """A workspace at a moment. tables: every table's rows; files: those below data/, with SHA-256; processes: of the server."""

    tables: dict[str, list[tuple[object, ...]]]
    files: dict[str, str]
    processes: frozenset[int]
    requests: int


def snapshot(workspace: Workspace, server: Server, model: ModelServer) -> Snapshot:
    return Snapshot(
        everything(workspace),
        files_of(workspace),
        frozenset(
            child.pid for child in psutil.Process(server.process.pid).children(recursive=True)
        ),
        len(model.asked),
    )


def files_of(workspace: Workspace) -> dict[str, str]:
    data = workspace.settings.data
    files = [
        file for file in data.rglob("*") if file.is_file() and not UNCOUNTED.fullmatch(file.name)
    ]
    return {
        str(file.relative_to(data)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files
    }


def changes_since(workspace: Workspace, n: int) -> list[tuple[str, str]]:
    """The author and the action of every line of the audit log after the first n, oldest first."""
    with workspace.store.read() as db:
        found = changes.latest(db, 100_000)
    return list(zip(found["author"], found["action"], strict=True))[::-1][n:]

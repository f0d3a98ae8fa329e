"""Secrets in nothing: all are planted, a model server and a source echo them in every way, and nothing that is written or
printed holds one."""

from __future__ import annotations

import asyncio
import html
import json
import os
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from core.base.config import load_settings
from core.base.net.retry import RetryPolicy
from tests import cases, commands
from tests.fakes.http_server import (
    ReceivedRequest,
    Response,
    ServerResponse,
    StreamedResponse,
    serve_in_thread,
)
from tests.fakes.scripted import Script, ScriptedModel

ROOT = Path(__file__).resolve().parent.parent
KEY, OWN, NCBI = "sk-SHAREDKEY-abcdef123456", "sk-own-key-of-gpu1/+=77", "ncbi0123456789abcdef"
COOKIE, CLIENT, OTHER_CLIENT = (
    "COOKIESECRETCOOKIESECRETCOOKIE00",
    "CLIENTSECRETVALUE99",
    "google-client-secret-42",
)
HUB = "hf_0123456789abcdefghij"
SECRETS = (KEY, OWN, NCBI, COOKIE, CLIENT, OTHER_CLIENT, HUB)
FILE = f"""PERTURBDESK_API_KEY = "{KEY}"
PERTURBDESK_NCBI_API_KEY = "{NCBI}"
[PERTURBDESK_API_KEYS]
"https://gpu1.lab.org/v1" = "{OWN}"
[auth]
redirect_uri = "https://desk.example.org/oauth2callback"
cookie_secret = "{COOKIE}"
client_id = "perturbdesk"
client_secret = "{CLIENT}"
[auth.google]
client_id = "google"
client_secret = "{OTHER_CLIENT}"
"""


def spellings(secret: str) -> set[bytes]:
    """How a secret may stand in a file or on a screen."""
    texts = {
        secret,
        quote(secret, safe=""),
        html.escape(secret),
        json.dumps(secret)[1:-1],
    }
    return {text.encode() for text in texts} | {b64encode(secret.encode()).rstrip(b"=")[:-1]}


def found_in(content: bytes) -> list[str]:
    """The secrets that stand in some bytes."""
    return [
        secret for secret in SECRETS if any(spelling in content for spelling in spellings(secret))
    ]


def everything_below(*folders: Path) -> dict[str, list[str]]:
    """File → secrets in it, of all files below some folders."""
    files = [
        file
        for folder in folders
        for file in folder.rglob("*")
        if file.is_file() and file.name != "secrets.toml"
    ]
    return {str(file): found for file in files if (found := found_in(file.read_bytes()))}


ECHO = "; ".join(
    [
        *SECRETS,
        *(quote(secret, safe="") for secret in SECRETS),
        *(b64encode(f"user:{secret}".encode()).decode() for secret in SECRETS),
        repr(SECRETS),
    ]
)


async def _echo_in_body(_request: ReceivedRequest, _: asyncio.StreamReader) -> Response | None:
    return ServerResponse(400, json.dumps({"error": {"message": f"wrong key {ECHO}"}}).encode())


async def _echo_in_headers(_request: ReceivedRequest, _: asyncio.StreamReader) -> Response | None:
    return ServerResponse(
        401, b"no", (("WWW-Authenticate", f'Bearer realm="{KEY} {CLIENT}"'), ("X-Key", KEY))
    )


async def _echo_in_a_redirect(
    _request: ReceivedRequest, _: asyncio.StreamReader
) -> Response | None:
    return ServerResponse(
        307,
        b"",
        (("Location", f"http://{KEY}:{CLIENT}@127.0.0.1:1/{quote(KEY)}/{COOKIE}?key={KEY}"),),
    )


async def _echo_in_an_answer(
    request: ReceivedRequest, reader: asyncio.StreamReader
) -> Response | None:
    if request.method == "GET":
        return await ScriptedModel(Script()).answer(request, reader)
    said = f"Said {ECHO}. Answer: <prob>40</prob> <answer>A</answer>"
    if json.loads(request.body).get("stream"):
        pieces = [said[i : i + 7] for i in range(0, len(said), 7)]
        chunks = [
            {"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]}
            for piece in pieces
        ]
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        return StreamedResponse(
            [*(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks), b"data: [DONE]\n\n"]
        )
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": said, "reasoning": said},
        "finish_reason": "stop",
    }
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    return ServerResponse(
        200, json.dumps({"model": "scripted", "choices": [choice], "usage": usage}).encode()
    )


async def _break_off(request: ReceivedRequest, reader: asyncio.StreamReader) -> Response | None:
    if request.method == "GET":
        return await ScriptedModel(Script()).answer(request, reader)
    return StreamedResponse([f'data: {{"error": "{KEY} {CLIENT}'.encode()])


ANSWERS = [_echo_in_body, _echo_in_headers, _echo_in_a_redirect, _echo_in_an_answer, _break_off]


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A workspace with six rows, on a machine with every secret."""
    (tmp_path / "secrets").mkdir()
    file = tmp_path / "secrets" / "secrets.toml"
    file.write_text(FILE)
    monkeypatch.setenv("PERTURBDESK_SECRETS_FILE", str(file))
    monkeypatch.setenv("PERTURBDESK_SIGN_IN", "no")  # a command asks any server
    monkeypatch.setenv("HF_TOKEN", HUB)
    for variable in ("PERTURBDESK_API_KEY", "PERTURBDESK_NCBI_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    folder = tmp_path / "desk"
    files = {"train.csv": cases.TRAIN, "test.csv": cases.TEST}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
        assert commands.core(folder, "import", str(tmp_path / name)).status == 0
    return folder


def test_every_secret_is_known(workspace: Path) -> None:
    assert set(SECRETS) <= set(load_settings(workspace).secrets)
    assert not {"perturbdesk", "https://desk.example.org/oauth2callback"} & set(
        load_settings(workspace).secrets
    )


@pytest.mark.few(1)
@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: answer.__name__.strip("_"))
def test_nothing_that_a_server_echoes_is_kept_or_printed(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: object
) -> None:
    monkeypatch.setattr(RetryPolicy, "wait_s", lambda *_: 0.0)
    with serve_in_thread(answer, "echoes") as address:  # type: ignore[arg-type]
        monkeypatch.setenv("PERTURBDESK_ENDPOINT", f"{address}/v1")
        for site in ("MYGENE", "STRING", "PUBMED"):
            monkeypatch.setenv(f"PERTURBDESK_{site}", address)
        run = (
            "run",
            "prompt_only",
            "--rows",
            "split=test;sample=1",
            "--model",
            "scripted",
            "--name",
            "r",
            "--set",
            "seeds=1",
        )
        done = [
            commands.core(workspace, "endpoint"),
            commands.core(workspace, *run),
            commands.core(
                workspace,
                "ask Pa Ga --method prompt_only --model scripted --set seeds=1",
            ),
            commands.core(workspace, "log", "r"),
            commands.core(workspace, "runs", "--json"),
            commands.core(
                workspace,
                "export",
                "r",
                "--format",
                "jsonl",
                "--traces",
                "--out",
                str(tmp_path / "traces.jsonl"),
            ),
            commands.core(
                workspace, "export", "r", "--format", "bundle", "--out", str(tmp_path / "r.zip")
            ),
            commands.core(workspace, "backup", "--out", str(tmp_path / "backup.zip")),
            commands.core(workspace, "doctor"),
        ]
    assert done[1].out + done[1].err  # it said something of the run
    assert [found_in((each.out + each.err).encode()) for each in done] == [[]] * len(done)
    assert everything_below(tmp_path) == {}


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "content",
    [
        f"PERTURBDESK_API_KEY = {KEY}\n",
        f'PERTURBDESK_API_KEY = "{KEY}\n',
        f'[auth]\nclient_secret = "{CLIENT}"\nclient_secret = "{COOKIE}"\n',
        f'PERTURBDESK_API_KEYS = "{KEY}"\n',
        f'[PERTURBDESK_API_KEYS]\n"https://a/v1" = "{KEY}"\n"https://A:443/other" = "{OWN}"\n',
        f'[PERTURBDESK_API_KEYS]\n"{KEY}" = "https://a/v1"\n',
    ],
)
def test_a_file_of_secrets_that_cannot_be_read_is_not_shown(
    workspace: Path, tmp_path: Path, content: str
) -> None:
    (tmp_path / "secrets" / "secrets.toml").write_text(content)
    done = commands.core(workspace, "runs")
    assert done.status == 1
    assert found_in((done.out + done.err).encode()) == []
    assert done.err.count("\n") == 1


def test_a_traceback_that_nobody_foresaw_shows_none(workspace: Path) -> None:
    program = (
        "import logging, sys\n"
        "from core.base import log\n"
        "from core.base.config import load_settings\n"
        "early = logging.getLogger('library'); early.addHandler(logging.StreamHandler())\n"
        "log.scrub_output(load_settings())\n"
        f"early.error('a library says %s', {KEY!r})\n"
        f"print({KEY!r}, {CLIENT!r}, flush=True)\n"
        f"raise ValueError({COOKIE!r})\n"
    )
    environment = {**os.environ, "PERTURBDESK_WORKSPACE": str(workspace)}
    done = subprocess.run(
        (sys.executable, "-c", program), cwd=ROOT, env=environment, capture_output=True, check=False
    )
    assert done.returncode == 1
    assert b"ValueError: [key]" in done.stderr
    assert b"a library says [key]" in done.stderr
    assert done.stdout == b"[key] [key]\n"
    # the line of the program that a traceback quotes is not there: -c has no file
    assert found_in(done.stdout + done.stderr) == []

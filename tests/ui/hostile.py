"""Text that tries to become more than text, a workspace full of it, and a listener that hears when it phones home."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import cycle
from pathlib import Path
from typing import Any

from core.base.config import Settings
from core.base.types import Evidence, Prediction, RowResult, TraceEvent
from core.features.importing.actions import import_upload
from core.features.importing.import_target import ImportOptions
from core.runs import actions, audited_rows
from core.runs.audited_rows import audit_rows
from core.runs.workspace import Workspace, open_workspace
from core.store import datasets
from tests import cases

CANARY = "window.pwned=1"


@dataclass
class Listener:
    """Where hostile text points to, and what was asked of it."""

    address: str
    asked: list[str] = field(default_factory=list)


@contextmanager
def listening() -> Iterator[Listener]:
    """A web server on loopback that answers everything and remembers it."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            listener.asked.append(self.path)
            self.send_response(204)
            self.end_headers()

        do_POST = do_HEAD = do_OPTIONS = do_GET

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener = Listener(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield listener
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def texts(at: str) -> list[str]:
    """Every trick that we know of, each asking for another path at the address `at`."""
    return [
        f'<script>{CANARY};fetch("{at}/script")</script>',
        f'<img src={at}/x.png onerror="{CANARY}">',
        f'<svg onload="{CANARY}"><image href="{at}/svg.png"/></svg>',
        f'<iframe src="{at}/frame"></iframe>',
        f'<a href="{at}/html">html</a>',
        f'<style>@import url("{at}/import.css");body{{background:url({at}/css.png)}}</style>',
        f'<div style="background:url({at}/div.png)">div</div>',
        f"![x]({at}/y.png)",
        f"[![x]({at}/z.png)]({at}/link)",
        f"[click]({at}/click)",
        f"[script](javascript:{CANARY})",
        f"[x][1]\n\n[1]: {at}/reference",
        f"{at}/bare",
        f"<{at}/auto>",
        "someone@example.com and www.example.com/autolink",
        f":material/delete: :red[red] :blue-badge[{at}/badge] :small[x] :sparkles:",
        rf"$x^2$ $$\includegraphics{{{at}/tex.png}}$$ $\href{{{at}/tex}}{{x}}$",
        "# heading\n\n- list\n\n> quote\n\n```\ncode\n```\n\n| a | b |\n|---|---|\n| c | d |",
    ]


def short_names(at: str) -> list[str]:
    """The same for what is called something: one line, short, no two alike."""
    return [text for text in texts(at) if "\n" not in text and len(text) <= actions.MAX_NAME]


def workspace(folder: Path, at: str) -> Workspace:
    """A workspace in which all that comes from outside is hostile: symbols, traces, dossiers, names, notes, rejected rows.

    Its runs: "debate" on every row, "steps" and "dossier" on the first two; they are renamed to hostile names.
    """
    workspace = open_workspace(Settings(workspace=folder, author=f"![author]({at}/author.png)"))
    names, every = short_names(at), "\n\n".join(texts(at))
    ids = [f"{name}_{name}" for name in names]
    dataset = f"![dataset]({at}/dataset.png) {at}/dataset"
    pairs = cases.as_csv(["id", "pert", "gene", "label"], _labelled(ids, names))
    _import(workspace, pairs, f"train {every}.csv", dataset)
    said = cases.debate_trace(EFFECT=every, NULL=every, UP=f"C) {every}", DOWN=every)
    _import(workspace, _submission([(key, said) for key in ids], names[1]), "debate.csv", dataset)
    _import(
        workspace,
        _submission([(ids[0], _react(every)), (ids[1], _coordinator(every))], names[2]),
        "steps.csv",
        dataset,
    )
    _write_dossier(workspace, dataset, ids[:2], every)
    for run in ("debate", "steps", "dossier"):
        actions.set_values(workspace, run, {"note": every})
        actions.add_note(workspace, run, ids[0], every, author=every)
        actions.rename(workspace, run, f"![{run}]({at}/run.png) {at}/{run} <img src={at}/tag.png>")
    return workspace


def _labelled(ids: Sequence[str], names: Sequence[str]) -> list[list[str]]:
    """Every label in turn, so that there is a score and figures are drawn."""
    return [
        [key, name, name, label]
        for key, name, label in zip(ids, names, cycle(("up", "none", "down")), strict=False)
    ]


def _import(workspace: Workspace, content: bytes, file: str, dataset: str) -> None:
    outcome = import_upload(workspace, content, file, ImportOptions(dataset=dataset))
    assert outcome.kind not in ("failed", "unknown"), outcome.message


def _submission(rows: Sequence[tuple[str, str]], model: str) -> bytes:
    """Rows of (id, trace), and one that will be rejected."""
    header = [
        "id",
        "prediction_up",
        "prediction_down",
        "reasoning_trace",
        "num_tool_calls",
        "model_name",
    ]
    lines = [[key, 0.3, 0.1, trace, 1, model] for key, trace in rows]
    return cases.as_csv(header, [*lines, [f"unknown {rows[0][1]}", 0.3, 0.1, "none", 1, model]])


def _react(said: str) -> str:
    return json.dumps(
        {
            "thought_0": said,
            "tool_name_0": said,
            "tool_args_0": {said: said},
            "observation_0": said,
            said: said,
        }
    )


def _coordinator(said: str) -> str:
    asked = {
        "agent": said,
        "question": said,
        "trajectory": json.loads(_react(said)),
        "answer": said,
        "tokens": 5,
    }
    return json.dumps({"coordinator": json.loads(_react(said)), "sub_agents": [asked]})


def _write_dossier(workspace: Workspace, dataset: str, ids: Sequence[str], said: str) -> None:
    """A run of our own, with evidence, which no submission can carry."""
    body = {"text": said, said: said, "list": [said], "table": [{"gene": said, said: said}]}
    dossier = tuple(
        Evidence(f"{status} {said}", said, status, said, None, body, said)
        for status in ("ok", "empty", "error", "offline")
    )
    spoken = (
        TraceEvent("de", "EFFECT", "brief", said),
        TraceEvent("de", "JUDGE", "verdict", said, meta={"p": 0.4}),
    )
    rows = [RowResult(Prediction(key, 0.3, 0.1, 0.4, 0.75, "file"), spoken, dossier) for key in ids]
    with workspace.change("hostile", said) as (db, detail):
        about = {
            "id": "0" * 10,
            "dataset": datasets.find(db, dataset).id,
            "name": "dossier",
            "spec": {said: said},
        }
        audited_rows.write_run(db, audit_rows(rows), method="debate", origin="run here", **about)
        detail |= {"said": said}

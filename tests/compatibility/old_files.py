"""What the tests of every earlier version's files do with them."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from core.actions import run_control
from core.actions.imports import import_paths
from core.actions.workspace import Workspace
from core.engine.journal import read_entries
from core.engine.row_codec import pair_id_of
from core.engine.spec import ExecutionSettings
from core.store import runs, traces
from core.types import RowResult
from tests.bundled import stored
from tests.fakes.scripted import request_counts

if TYPE_CHECKING:
    from streamlit.testing.v1 import AppTest

    from tests.ui.conftest import Visit


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack a workspace; its files are new, but its workers wrote their heartbeats long ago."""
    with zipfile.ZipFile(archive) as files:
        files.extractall(folder)
    for heartbeat in folder.rglob("heartbeat"):
        os.utime(heartbeat, (0, 0))
    return folder


def journal_of(workspace: Workspace, name: str) -> Path:
    """The journal of a run, by name or id."""
    with workspace.store.read() as db:
        return workspace.run_folder(runs.find(db, name).id).rows


def check_journal(workspace: Workspace, name: str) -> None:
    """The journal says what the store says: all of a row but its evidence and calls, which `traces.rows` leaves out."""
    with workspace.store.read() as db:
        rows = traces.rows(db, runs.find(db, name).id)
    journalled = [entry for entry, _ in read_entries(journal_of(workspace, name))]
    assert len(journalled) == len(rows)
    for entry in journalled:
        assert isinstance(entry, RowResult)
        assert rows[pair_id_of(entry)].prediction == entry.prediction
        assert rows[pair_id_of(entry)].events == entry.events


def resume(workspace: Workspace, name: str, server: str, budget: int | None = None) -> runs.Run:
    """The run once every row is there, each journalled and stored once, with a request for nothing but the missing rows."""
    journal = journal_of(workspace, name)
    journalled = {pair_id_of(entry) for entry, _ in read_entries(journal)}
    requests = request_counts(server).get("/v1/chat/completions", 0)
    how = ExecutionSettings(server, retries=0, token_budget=budget)
    finished = run_control.resume(workspace, name, settings=how, begin=run_control.work_on)
    entries = [entry for entry, _ in read_entries(journal)]
    keys = [pair_id_of(entry) for entry in entries]
    assert len(keys) == len(set(keys)) == finished.total
    rows = stored(workspace, name)["prediction"]
    assert sorted(row[1] for row in rows) == sorted(keys)
    asked = [call for entry in entries[len(journalled) :] for call in entry.calls if not call.cached]  # type: ignore[union-attr]
    assert request_counts(server)["/v1/chat/completions"] - requests == len(asked) > 0
    return finished


def follow(visit: Visit, workspace: Workspace, link: str, errors: tuple[str, ...] = ()) -> AppTest:
    """The page that a link leads to, redirected as in a browser.

    No parameter is ignored, and dataset, run and row are those of the link. errors: how what may be said of failed runs begins.
    """
    address = urlsplit(link)
    page, query = address.path.removeprefix("/") or "overview", parse_qs(address.query)
    parameters = {name: values[0] if len(values) == 1 else values for name, values in query.items()}
    app = visit(workspace, page, **parameters)
    assert not app.exception
    assert [each.value for each in app.error if not each.value.startswith(errors)] == []
    ignored = [each.value for each in app.caption if "This link sets" in each.value]
    assert ignored == []
    for name in {"dataset", "run", "row", "with"} & parameters.keys():  # widgets take what is their default out of the address
        assert app.query_params[name] == parameters[name]
    return app


def import_file(workspace: Workspace, file: Path) -> Any:
    [outcome] = import_paths(workspace, [file])
    assert outcome.kind != "failed", outcome.message
    return outcome

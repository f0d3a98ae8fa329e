"""A shared server with a sign-in, a key and a model server that counts, on a workspace in which there is something to change."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from core.base.config import Settings
from core.features.arguments import labels, readings
from core.features.arguments.rubric import Rubric
from core.features.sharing.report import selection as reports
from core.runs import actions as runs
from core.runs import launch
from core.runs.request import RunRequest
from core.runs.workspace import Workspace, open_workspace
from core.store.runs import Run
from tests import worlds
from tests.fakes import scripted as scripted_server
from tests.ui.change_watch import API_KEY, ModelServer, Snapshot, counting, snapshot
from tests.ui.page_client import AUTH, cookie_of
from tests.ui.serving import Server, serving

ADA, CARL = "ada@lab.example", "carl@lab.example"  # editors
EVE, BOB = "eve@lab.example", "bob@lab.example"  # readers


@dataclass(frozen=True)
class SharedServer:
    """A running server. run: a debate that was made here, with a sample of its texts; secrets: the file with the roles."""

    server: Server
    workspace: Workspace
    model: ModelServer
    run: Run
    secrets: Path

    @property
    def address(self) -> str:
        return self.server.address

    def cookie(self, email: str, age_s: float = 0.0) -> str:
        return cookie_of(self.address, email, age_s=age_s)

    def set_roles(self, editors: Sequence[str], readers: Sequence[str]) -> None:
        """Write other roles to the file of secrets."""
        write_roles(self.secrets, editors, readers)

    def snapshot(self) -> Snapshot:
        return snapshot(self.workspace, self.server, self.model)


def write_roles(
    file: Path, editors: Sequence[str] = (ADA, CARL), readers: Sequence[str] = (EVE, BOB)
) -> None:
    """Write a file of secrets with roles, by default those that the server begins with."""
    roles = f"PERTURBDESK_EDITORS = {json.dumps(editors)}\nPERTURBDESK_READERS = {json.dumps(readers)}\n"
    part = file.with_suffix(".part")
    part.write_text(f"{roles}{AUTH}", "utf-8")
    part.replace(
        file
    )  # the server reads it all the time, and signs everybody out where half of it stands


def fill(workspace: Workspace) -> Run:
    """Make a debate, and what people add to one; returns the debate."""
    worlds.furnish(workspace)
    with scripted_server.serving() as url:
        options = {"tools": "train_lookup,base_rates", "rounds": 0}
        asked = RunRequest(
            "debate", None, options, "split=train;sample=6", "argued", "scripted", endpoint=url
        )
        run = launch.start(workspace, asked)
    rubric = Rubric("names-a-program", "Does the text name a program?", unit="row")
    readings.add_rubric(workspace, rubric)
    labels.draw_sample(workspace, rubric, run.id, 4)
    runs.add_note(workspace, run.id, None, "worth a look")
    reports.save_report(workspace, "for Monday", {"runs": [run.id]})
    return run


@contextmanager
def sharing(folder: Path, **environment: str) -> Iterator[SharedServer]:
    """Serve a new workspace in a folder to others for as long as a block lasts."""
    workspace = open_workspace(Settings(workspace=folder / "workspace", author="whoever runs it"))
    run, secrets = fill(workspace), folder / "secrets.toml"
    write_roles(secrets)
    with counting() as model:
        own = {
            "PERTURBDESK_API_KEY": API_KEY,
            "PERTURBDESK_ENDPOINT": model.address,
            "PERTURBDESK_SECRETS_FILE": str(secrets),
        }
        with serving(workspace.settings.workspace, **own, **environment) as server:
            yield SharedServer(server, workspace, model, run, secrets)

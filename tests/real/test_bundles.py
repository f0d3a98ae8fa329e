"""Published runs as bundles: what is imported elsewhere is what was here."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.base.config import Settings
from core.features.importing import bundle_actions
from core.features.importing.actions import import_paths, import_upload
from core.runs.actions import delete
from core.runs.workspace import Workspace, open_workspace
from tests.bundled import stored

pytestmark = pytest.mark.real

# Briefs and verdicts, thoughts and tool calls, answers per seed, and a file without any trace.
RUNS = ("track_b_sharp", "track_b_react", "track_a_logprobs_train2499", "track_c_qwen3_4b")
SOME = (RUNS[0], RUNS[-1])


@pytest.fixture(scope="module")
def elsewhere(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The challenge without a run; tests delete those that they bring."""
    workspace = open_workspace(
        Settings(workspace=tmp_path_factory.mktemp("elsewhere"), author="colleague")
    )
    import_paths(workspace, [shared_data / "challenge"])
    return workspace


@pytest.mark.soak
@pytest.mark.parametrize(
    "name", [RUNS[0], *(pytest.param(name, marks=pytest.mark.soak) for name in RUNS[1:])]
)
def test_a_published_run_is_the_same_elsewhere(
    real_workspace: Workspace, elsewhere: Workspace, name: str
) -> None:
    made = bundle_actions.build_bundle(real_workspace, name)
    outcome = import_upload(elsewhere, made.content, made.file_name)
    assert (outcome.kind, outcome.name, outcome.rejected, outcome.new) == ("bundle", name, (), True)
    again = import_upload(real_workspace, made.content, made.file_name)
    assert (again.kind, again.new) == ("bundle", False)
    ours, theirs = stored(real_workspace, name), stored(elsewhere, name)
    for table, rows in ours.items():
        assert theirs[table] == rows, table
    assert bundle_actions.build_bundle(elsewhere, name).content == made.content
    delete(elsewhere, name)


@pytest.mark.soak
@pytest.mark.parametrize(
    "names", [SOME, pytest.param(RUNS, marks=pytest.mark.soak)], ids=["some", "all"]
)
def test_the_published_files_change_nothing_after_their_bundles(
    real_workspace: Workspace, elsewhere: Workspace, shared_data: Path, names: tuple[str, ...]
) -> None:
    for name in names:
        import_upload(elsewhere, bundle_actions.build_bundle(real_workspace, name).content, name)
    files = [shared_data / "perturbagent" / f"{name}.zip" for name in names]
    assert [(outcome.name, outcome.new) for outcome in import_paths(elsewhere, files)] == [
        (name, False) for name in names
    ]
    for name in names:
        delete(elsewhere, name)

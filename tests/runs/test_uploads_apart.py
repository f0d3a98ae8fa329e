"""On a shared server uploads are read by a process of its own, whose errors come back in words; elsewhere they are read here."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal
from unittest import mock

import pytest

from core.base.config import Settings
from core.base.errors import InputError, ReadOnly, SettingError, SystemFailure, UnsafeFile
from core.base.records import from_json, to_json
from core.base.types import Rejected
from core.features.cells import predictions
from core.features.cells.predictions import PredictionOptions
from core.features.importing import actions as imports
from core.features.importing.import_target import Imported, ImportOptions
from core.features.submissions import actions as submissions
from core.runs import prompt_files, upload_process, uploads_apart
from core.runs.upload_process import task_named
from core.runs.uploads_apart import read_apart
from core.runs.workspace import Person, Workspace, open_workspace
from core.store import changes
from tests import cases
from tests.features.cells import hostile_hdf5 as hostile

SHARED = "https://desk.example.org"


@pytest.fixture
def shared(tmp_path: Path) -> Workspace:
    """An empty workspace of a shared server."""
    return open_workspace(
        Settings(
            workspace=tmp_path,
            author="Ada <ada@example.org>",
            base_url=SHARED,
            api_key="secret-key",
        )
    )


def test_what_a_setting_may_not_be_comes_back_from_the_process_in_words(shared: Workspace) -> None:
    failing = mock.Mock(side_effect=SettingError("k", "got 0, expected 1 or more"))
    request = {
        "task": "failing",
        "files": [],
        "options": {},
        "settings": {"workspace": str(shared.settings.workspace)},
    }
    with (
        mock.patch.object(upload_process, "task_named", {"failing": failing}.get),
        mock.patch("core.base.log.configure"),
    ):
        found = upload_process._carry_out(request)["error"]
    error = uploads_apart._as_error(shared.settings, found, "a file")
    assert (type(error), str(error)) == (InputError, "k: got 0, expected 1 or more")


def private(workspace: Workspace) -> Workspace:
    """The same workspace, as a process that reads uploads has it."""
    return replace(workspace, settings=replace(workspace.settings, base_url=""))


@pytest.mark.soak
def test_an_upload_is_imported_by_another_process_under_the_persons_name(shared: Workspace) -> None:
    bad = cases.TRAIN + b"x_y,x,y,sideways\n"
    with mock.patch.object(
        imports, "recognise_upload", side_effect=AssertionError("read in the app's own process")
    ):
        [outcome] = imports.import_uploads(shared, [("train.csv", bad)], ImportOptions())
    assert (outcome.kind, outcome.rows, outcome.path) == ("challenge_train", 4, "train.csv")
    assert [row.line for row in outcome.rejected] == [6]
    with shared.store.read() as db:
        assert changes.latest(db)["author"].tolist() == ["Ada <ada@example.org>"]
    assert "secret-key" not in (shared.settings.data / "desk.log").read_text("utf-8")


@pytest.mark.soak
def test_a_hostile_upload_is_refused_in_words_without_a_folder_of_ours(
    shared: Workspace, tmp_path: Path
) -> None:
    imports.import_uploads(private(shared), [("train.csv", cases.TRAIN)])
    spoil, _ = hostile.LEAVES_THE_FILE["column-in-another-file"]
    path = hostile.write_spoilt(tmp_path, spoil)
    with pytest.raises(UnsafeFile) as refused:
        predictions.import_uploaded(
            shared, ("evil.h5ad", path.read_bytes()), None, PredictionOptions()
        )
    assert str(refused.value).startswith("evil.h5ad: /obs/gene: values in another file")


@pytest.mark.soak
def test_what_needs_more_memory_is_refused_in_words(shared: Workspace) -> None:
    small = replace(shared, settings=replace(shared.settings, upload_memory_mb=350))
    pack = b'{"genes": [' + b"[]," * 4_000_000 + b"[]]}"  # 12 MB, which take 250 MB as lists
    [outcome] = imports.import_uploads(small, [("pack.json", pack)])
    assert outcome.kind == "failed"
    assert (
        outcome.message == "pack.json: needs more than 350 MB of memory, the limit for uploads here"
    )


def test_what_takes_too_long_is_ended(shared: Workspace) -> None:
    hurried = replace(shared, settings=replace(shared.settings, upload_time_s=0.05))
    with pytest.raises(InputError, match=r"x\.csv: not read within 0\.05 s"):
        read_apart(hurried, "import", [("x.csv", cases.TRAIN)], asdict(ImportOptions()))


@pytest.mark.parametrize("role", [None, "reader"])
def test_whose_role_is_taken_away_while_their_file_is_read_imports_nothing(
    shared: Workspace, role: Literal["reader"] | None
) -> None:
    """The file is read, and its process waits for the store, which somebody else writes to."""
    roles = [Person("Ada", "ada@example.org", "editor")]
    ada = shared.for_person(Person("Ada", "ada@example.org", "editor"), lambda: roles[-1])
    errors = []

    def upload():
        try:
            read_apart(ada, "import", [("train.csv", cases.TRAIN)], asdict(ImportOptions()))
        except ReadOnly as error:
            errors.append(error)

    with shared.store.write():
        thread = threading.Thread(target=upload)
        thread.start()
        time.sleep(0.5)
        assert thread.is_alive()
        roles.append(None if role is None else Person("Ada", "ada@example.org", role))
        thread.join(30)
        assert not thread.is_alive()
    [error] = errors
    assert "ada@example.org is no longer an editor" in str(error)
    time.sleep(0.5)  # in which a process that lived on would write
    with shared.store.read() as db:
        assert changes.latest(db).empty


def test_who_waited_for_others_is_asked_for_their_role_again(shared: Workspace) -> None:
    looked = [None, Person("Ada", "ada@example.org", "editor")]
    ada = shared.for_person(Person("Ada", "ada@example.org", "editor"), looked.pop)
    with (
        mock.patch.object(uploads_apart, "_run", side_effect=AssertionError("was read")),
        pytest.raises(ReadOnly, match="no longer an editor"),
    ):
        read_apart(ada, "import", [("train.csv", cases.TRAIN)], {})


def test_a_person_reads_one_file_at_a_time_and_others_are_read_meanwhile(
    shared: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two slow files of one person leave a reader to the others."""
    reading, may_end = list[str](), threading.Event()

    def run(workspace, *_):
        reading.append(workspace.settings.author)
        may_end.wait(20)
        return 1

    def upload(author):
        own = replace(shared, settings=replace(shared.settings, author=author))
        with suppress(SystemFailure):
            read_apart(own, "import", [("x.csv", b"")], {})

    monkeypatch.setattr(uploads_apart, "_run", run)
    threads = [threading.Thread(target=upload, args=(name,)) for name in ("ada", "ada", "eve")]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 20
    while len(reading) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert sorted(reading) == ["ada", "eve"]
    may_end.set()
    for thread in threads:
        thread.join()
    assert sorted(reading) == ["ada", "ada", "eve"]


def test_its_environment_holds_no_setting_and_no_key(
    shared: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERTURBDESK_API_KEY", "secret-key")
    monkeypatch.setenv("HF_TOKEN", "secret-token")
    given = {}

    def start(*_, **more):
        given.update(more)
        return mock.Mock(wait=lambda _: 0, poll=lambda: 0)

    monkeypatch.setattr(uploads_apart.subprocess, "Popen", start)
    with pytest.raises(SystemFailure, match="without a result"):
        read_apart(shared, "import", [("x.csv", b"")], {})
    assert not {
        name
        for name, value in given["env"].items()
        if "secret" in value or name.startswith("PERTURBDESK")
    }


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        (-signal.SIGKILL, InputError, "needs more than 2,000 MB"),
        (-signal.SIGXCPU, InputError, "not read within 600 s"),
        (-signal.SIGSEGV, InputError, "a damaged file, or one that needs more .*SIGSEGV"),
        (-signal.SIGABRT, InputError, "SIGABRT"),
        (1, SystemFailure, "status 1 and without a result"),
    ],
)
def test_each_end_has_its_words(status: int, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        raise uploads_apart._explain_end(Settings(), status, "x")


def test_errors_that_are_none_of_ours_are_not_made(shared: Workspace) -> None:
    for name in ("SystemExit", "Path", "annotations", "Exception"):
        error = uploads_apart._as_error(shared.settings, {"type": name, "message": "m"}, "x")
        assert type(error) is SystemFailure
    assert (
        type(uploads_apart._as_error(shared.settings, {"type": "UnsafeFile", "message": "m"}, "x"))
        is UnsafeFile
    )


def here(
    workspace: Workspace, task: str, files: list[tuple[str, bytes]], options: Mapping[str, Any]
) -> Any:
    """A task as the process carries it out, in this one."""
    import json

    return json.loads(
        json.dumps(task_named(task)(private(workspace), files, json.loads(json.dumps(options))))
    )


def test_every_task_gives_what_its_action_gives(
    shared: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = private(shared)
    for name, content in (("train.csv", cases.TRAIN), ("test.csv", cases.TEST)):
        imports.import_uploads(own, [(name, content)])
    for module in (predictions, prompt_files, submissions):
        monkeypatch.setattr(module, "read_apart", here)
    problems = submissions.check_file(shared, cases.DEBATES, "B", name="x.csv")
    assert problems == submissions.check_file(own, cases.DEBATES, "B", name="x.csv")
    assert problems
    table = b"pert,gene,log2_fc\nPa,Ga,1\n"
    made = predictions.import_uploaded(
        shared, ("t.csv", table), None, PredictionOptions(name="mine")
    )
    assert (made.kind, made.name) == ("predicted_expression", "mine")
    assert here(shared, "prompts", [("p.csv", b"id,prompt\na,b\n")], {}) == 1


def test_an_outcome_survives_as_plain_data() -> None:
    outcome = Imported(
        "x", "failed", None, 3, (Rejected("x", 1, "duplicate", "d"),), False, "m", "mouse"
    )
    assert from_json(Imported, to_json(outcome), "import") == outcome

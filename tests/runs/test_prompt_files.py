"""Prompts of a file: asked as they stand, part of the run's identity, kept in the workspace, and never a template instead."""

from __future__ import annotations

import json
import os
import signal
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.base.errors import InputError, StateError
from core.base.types import Failed
from core.methods.prompts import A_PROMPT_TOKENS
from core.runs import launch, prompt_files, run_control
from core.runs.journal import read_entries, read_progress
from core.runs.prompt_files import PromptFile, read_prompts
from core.runs.request import RunRequest
from core.runs.workspace import Workspace
from core.store import calls, runs
from core.store.runs import Run
from tests.cases import as_csv
from tests.commands import core, core_json
from tests.fakes.scripted import MODEL, Script, request_counts, serving
from tests.runs.cases import end_worker, run_named, status, until, until_state, workspace_with

ROWS = 4
IDS = [f"Qb{i % 7}_Hb{i}" for i in range(ROWS)]
ASKED = {key: f" What of {key}, {{pert}}?\n<answer>X</answer>" for key in IDS}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return workspace_with(tmp_path / "workspace", ROWS)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with serving() as url:
        yield url


def csv_of(prompts: Mapping[str, str]) -> bytes:
    return as_csv(["id", "prompt"], prompts.items())


def jsonl_of(prompts: Mapping[str, str]) -> bytes:
    return "\n".join(
        json.dumps({"id": key, "prompt": prompt}) for key, prompt in prompts.items()
    ).encode()


def request(url: str, file: object, **options: object) -> RunRequest:
    return RunRequest(
        "prompt_only",
        "bmdm",
        {"prompts": file, **options},
        "split=test",
        "mine",
        MODEL,
        endpoint=url,
    )


def started(workspace: Workspace, url: str, content: bytes, **options: object) -> Run:
    return launch.start(
        workspace, request(url, PromptFile("mine.csv", content), **options), replace=True
    )


def asked_by(workspace: Workspace, run: Run, rows: Iterable[str] = IDS) -> dict[str, set[str]]:
    """Row → every first message that was sent for it."""
    with workspace.store.read() as db:
        made = {key: calls.of_row(db, run.id, key) for key in rows}
    return {
        key: {json.loads(call.request)["messages"][0]["content"] for call in of_row}
        for key, of_row in made.items()
    }


def kept(workspace: Workspace) -> list[str]:
    folder = workspace.settings.data / "prompts"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


@pytest.mark.soak
@pytest.mark.parametrize("answers", ["letters", "logprobs"])
@pytest.mark.parametrize("form", [csv_of, jsonl_of])
def test_the_prompts_of_a_file_are_asked_as_they_stand(
    workspace: Workspace, tmp_path: Path, server: str, form: Any, answers: str
) -> None:
    more = {"Pa0_Ga0": "A row of the dataset that is not in the run."}
    file = tmp_path / "mine"
    file.write_bytes(form({**ASKED, **more}))
    options = (
        "--set",
        f"prompts={file}",
        "--set",
        f"answers={answers}",
        "--rows",
        "split=test",
        "--endpoint",
        server,
    )
    printed = core_json(workspace, "run", "prompt_only", "--name", "mine", *options)
    assert (printed["status"], printed["done"], printed["failed"]) == ("done", ROWS, 0)
    run = run_named(workspace, "mine")
    assert asked_by(workspace, run) == {key: {prompt} for key, prompt in ASKED.items()}
    assert run.spec["options"]["prompts"] == PromptFile("", file.read_bytes()).sha256
    assert kept(workspace) == [run.spec["options"]["prompts"]]


def test_a_run_is_known_by_the_content_of_its_file(workspace: Workspace, server: str) -> None:
    run = started(workspace, server, csv_of(ASKED))
    again = launch.start(workspace, request(server, PromptFile("elsewhere.csv", csv_of(ASKED))))
    by_hash = launch.resolve(workspace, request(server, run.spec["options"]["prompts"]))
    other = launch.resolve(
        workspace,
        request(server, PromptFile("mine.csv", csv_of({**ASKED, IDS[0]: "Other words."}))),
    )
    assert run.id == again.id == by_hash.key != other.key
    assert len(kept(workspace)) == 1  # nothing is kept of what was not started


CASES = {
    "rows without a prompt": (
        {key: ASKED[key] for key in IDS[:1]},
        {},
        f"mine.csv: no prompt for 3 of the run's 4 rows: {', '.join(IDS[1:])}; expected one for each",
    ),
    "no place for log-probabilities": (
        {**ASKED, IDS[1]: "A, B or C?"},
        {"answers": "logprobs"},
        f"mine.csv: 1 prompts do not ask for <answer>X</answer>: {IDS[1]}; expected it in each, since log-probabilities",
    ),
    "an empty prompt": ({**ASKED, IDS[1]: "\n"}, {}, f"the prompt of '{IDS[1]}' is empty"),
    "a template beside": (
        ASKED,
        {"template": "{pert} {gene}"},
        "template: got '{pert} {gene}', which has no effect on the prompts",
    ),
    "shots": (
        ASKED,
        {"shots": 4},
        "shots: got 4, which has no effect on the prompts of a file; expected 0",
    ),
    "no reasoning": (
        ASKED,
        {"reasoning": False},
        "reasoning: got False, which has no effect on the prompts of a file",
    ),
    "another context": (
        ASKED,
        {"context": "site"},
        "context: got 'site', which has no effect on the prompts of a file",
    ),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("case", CASES)
def test_what_cannot_be_asked_is_refused_before_there_is_a_run(
    workspace: Workspace, server: str, case: str
) -> None:
    prompts, options, said = CASES[case]
    before = request_counts(server).get("/v1/chat/completions", 0)
    with pytest.raises(InputError) as error:
        started(
            workspace,
            server,
            jsonl_of(prompts) if case == "an empty prompt" else csv_of(prompts),
            **options,
        )
    assert said in str(error.value)
    assert kept(workspace) == []
    assert request_counts(server).get("/v1/chat/completions", 0) == before
    with workspace.store.read() as db:
        assert runs.list_all(db) == []


def test_prompts_for_unknown_ids_are_listed_and_the_others_asked(
    workspace: Workspace, tmp_path: Path, server: str
) -> None:
    file = tmp_path / "some.csv"
    file.write_bytes(csv_of({IDS[2]: ASKED[IDS[2]], "X_Y": "x", "Y_X": "y"}))
    done = core(
        workspace,
        "run",
        "prompt_only",
        "--set",
        f"prompts={file}",
        "--endpoint",
        server,
    )
    assert "some.csv: not asked, since 2 of 3 ids are not in dataset bmdm: X_Y, Y_X" in done.err
    run = run_named(workspace, "prompt_only some.csv")
    assert (run.done, run.total) == (1, 1)
    assert asked_by(workspace, run) == {
        key: {ASKED[key]} if key == IDS[2] else set() for key in IDS
    }
    of_none = RunRequest(
        "prompt_only",
        "bmdm",
        {"prompts": PromptFile("mine.csv", csv_of({"X_Y": "x"}))},
        model=MODEL,
    )
    with pytest.raises(
        InputError,
        match=r"mine\.csv: 1 of 1 ids are not in dataset bmdm: X_Y; expected ids of its rows",
    ):
        launch.resolve(workspace, of_none)


def test_a_template_may_be_a_file(tmp_path: Path) -> None:
    file = tmp_path / "template.txt"
    file.write_text("{cell_desc}\n{pert} on {gene}: A, B or C?", encoding="utf-8")
    method = launch.method_named("prompt_only")
    assert launch.read_options(method, [f"template={file}"]) == {
        "template": file.read_text(encoding="utf-8")
    }
    assert launch.read_options(method, ["template={pert} {gene}"]) == {"template": "{pert} {gene}"}
    with pytest.raises(InputError, match=r"nowhere\.txt: cannot be read"):
        launch.read_options(method, ["template=nowhere.txt"])


@pytest.mark.soak
def test_a_prompt_that_is_too_long_fails_its_row(workspace: Workspace) -> None:
    words = "word " * (A_PROMPT_TOKENS // 2)  # more bytes than tokens are allowed, and fewer tokens
    with serving() as url:
        run = started(workspace, url, csv_of({**ASKED, IDS[0]: words, IDS[1]: words * 2}))
    assert (run.done, run.failed) == (ROWS - 1, 1)
    entries = [entry for entry, _ in read_entries(workspace.run_folder(run.id).rows)]
    [failed] = [entry for entry in entries if isinstance(entry, Failed)]
    assert failed.pair_id == IDS[1]
    assert "(counted by server), expected at most 4,096" in failed.message


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("nowhere.csv", "nowhere.csv: cannot be read (No such file or directory)"),
        ("0" * 64, "file of prompts 0000000000: "),
    ],
)
def test_a_file_that_is_not_there_is_one_line(
    workspace: Workspace, server: str, given: str, said: str
) -> None:
    place = workspace.settings.workspace
    done = core(
        place,
        "run",
        "prompt_only",
        "--set",
        f"prompts={given}",
        "--endpoint",
        server,
        "--rows",
        "split=test",
    )
    assert (done.status, said in done.err, done.err.count("\n")) == (1, True, 1), done.err
    with pytest.raises(
        InputError, match="expected a file of prompts, or the SHA-256 of a stored one"
    ):
        launch.resolve(workspace, request(server, "mine.csv"))  # a page hands in no path


@pytest.mark.soak
def test_a_killed_run_goes_on_with_the_kept_file(tmp_path: Path) -> None:
    many = workspace_with(tmp_path / "many", 12)
    prompts = {f"Qb{i % 7}_Hb{i}": f"Row {i}: A, B or C?\n<answer>X</answer>" for i in range(12)}
    file = tmp_path / "mine.csv"
    file.write_bytes(csv_of(prompts))
    with serving(Script(delay_s=0.2)) as url:
        run = launch.start(
            many, replace(request(url, prompt_files.open_file(file)), concurrency=3), detach=True
        )
        try:
            until(
                lambda: len(read_progress(many.run_folder(run.id).rows).finished) >= 3,
                "the first rows",
            )
            pid = status(many, run).pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            until_state(many, run, "crashed")
        finally:
            end_worker(many, run)
        assert 3 <= len(read_progress(many.run_folder(run.id).rows).finished) < 12
        file.write_bytes(
            csv_of(dict.fromkeys(prompts, "Something else."))
        )  # what was brought is of no account any more
        ended = run_control.resume(many, run.id, begin=run_control.work_on)
    assert (ended.status, ended.done, ended.failed) == ("done", 12, 0)
    assert asked_by(many, run, prompts) == {key: {prompt} for key, prompt in prompts.items()}


@pytest.mark.soak
def test_without_the_kept_file_a_run_stops_and_says_so(workspace: Workspace, server: str) -> None:
    file = PromptFile("mine.csv", csv_of(ASKED))
    prompt_files.keep(workspace, file)
    spec = launch.resolve(workspace, request(server, file))
    settings = launch.execution_settings(
        workspace, request(server, file), launch.method_named("prompt_only")
    )
    run = run_control.start(workspace, spec, "mine", settings, begin=lambda *_: None)
    path = workspace.settings.data / "prompts" / file.sha256
    before = request_counts(server).get("/v1/chat/completions", 0)
    for change, said in (
        (
            path.unlink,
            "cannot be read (No such file or directory); request the run with that file again",
        ),
        (
            lambda: path.write_bytes(csv_of(dict.fromkeys(IDS, "Other words."))),
            "has changed since, its hash is",
        ),
    ):
        change()
        run_control.work_on(workspace, run.id)
        stopped = run_named(workspace, "mine")
        assert (stopped.status, stopped.done, said in stopped.cause) == ("stopped", 0, True), (
            stopped.cause
        )
        assert f"file of prompts {file.sha256[:10]}" in stopped.cause
    assert request_counts(server).get("/v1/chat/completions", 0) == before
    assert (
        launch.start(workspace, request(server, file)).id == run.id
    )  # which only brings the file back
    assert path.read_bytes() == file.content
    ended = run_control.resume(workspace, run.id, begin=run_control.work_on)
    assert (ended.status, ended.done) == ("done", ROWS)
    assert asked_by(workspace, ended) == {key: {prompt} for key, prompt in ASKED.items()}


def test_a_hash_leads_nowhere_else(workspace: Workspace) -> None:
    with pytest.raises(StateError, match="expected a SHA-256"):
        prompt_files.read_kept(workspace, "../desk.duckdb")


@pytest.mark.soak
def test_a_submission_holds_the_prompts_that_were_asked(
    workspace: Workspace, tmp_path: Path, server: str
) -> None:
    long = "word " * (A_PROMPT_TOKENS // 6)  # four of them are too long for one prompt, each is not
    prompts = {key: f"{prompt}{long}" for key, prompt in ASKED.items()}
    run = started(workspace, server, csv_of({**prompts, "Pa0_Ga0": "Not in the run."}))
    place, out = workspace.settings.workspace, tmp_path / "a.zip"
    package = core_json(place, "package", "mine", "--track", "A", "--out", str(out))
    assert package["path"] == str(out)
    assert not [problem for problem in package["problems"] if problem["rule"].startswith("prompt")]
    with zipfile.ZipFile(out) as archive:
        text = archive.read("prompt.txt")
    lines = text.rpartition(b"\n")
    assert read_prompts(PromptFile("prompt.txt", lines[0])) == prompts
    assert "asked_again" in json.loads(lines[2])
    assert core_json(place, "check", str(out), "--track", "A", "--run", "mine")["valid"]

    changed = tmp_path / "changed.zip"
    with zipfile.ZipFile(out) as source, zipfile.ZipFile(changed, "w") as target:
        for name in source.namelist():
            target.writestr(name, source.read(name).replace(b"What of", b"What about"))
    problems = core_json_failing(place, "check", str(changed), "--track", "A", "--run", "mine")[
        "problems"
    ]
    assert "prompt_differs" in {problem["rule"] for problem in problems}

    (workspace.settings.data / "prompts" / run.spec["options"]["prompts"]).unlink()
    problems = core_json_failing(
        place, "package", "mine", "--track", "A", "--out", str(tmp_path / "b.zip")
    )["problems"]
    found = {problem["rule"]: problem["message"] for problem in problems}
    assert "prompt_missing" in found
    assert "cannot be read" in found["prompt_differs"]


def core_json_failing(place: Path, *arguments: str) -> Any:
    """The JSON of a command that finds errors."""
    return json.loads(core(place, *arguments, "--json").out)

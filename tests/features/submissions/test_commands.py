"""The contract of the commands for submissions: JSON, words, exit statuses; and what is packaged comes back."""

from __future__ import annotations

import hashlib
import json
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core import __version__
from core.base.config import Settings
from core.base.types import RowResult
from core.features.importing.lineage import prompts_of
from core.features.submissions.actions import provenance_of
from core.methods.debate import Debate
from core.runs.workspace import Workspace, open_workspace
from core.store import changes, runs, traces
from tests import cases, worlds
from tests.commands import core, core_json
from tests.fakes.scripted import serving
from tests.features.submissions.sound import TOOL
from tests.runs.cases import workspace_with

PACKAGED = {"path", "sha256", "problems"}
PROBLEM = {"rule", "severity", "rows", "message"}
ROWS = 8


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with serving() as url:
        yield url


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, server: str) -> Path:
    """A debate on eight test rows; nobody changes it."""
    folder = workspace_with(tmp_path_factory.mktemp("made"), ROWS).settings.workspace
    core_json(
        folder, "run", "debate", "--name", "debate", "--endpoint", server, "--rows", "split=test"
    )
    return folder


@pytest.fixture(scope="module")
def others(made: Path, server: str) -> None:
    """Runs of the other methods beside it."""
    for method in ("prompt_only", "react", "coordinator"):
        core_json(
            made, "run", method, "--name", method, "--endpoint", server, "--rows", "split=test"
        )
    core_json(made, "run evidence_rules --name rules --rows split=test")


def rows_of(place: Path, run: str) -> dict[str, RowResult]:
    with open_workspace(Settings(workspace=place)).store.read() as db:
        return traces.rows(db, runs.find(db, run).id)


def packaged(place: Path, run: str, track: str, out: Path, *more: str) -> Any:
    result = core_json(place, "package", run, "--track", track, "--out", str(out), *more)
    assert set(result) == PACKAGED
    assert all(set(problem) == PROBLEM for problem in result["problems"])
    return result


def rules(result: Any, severity: str) -> set[str]:
    return {problem["rule"] for problem in result["problems"] if problem["severity"] == severity}


@pytest.fixture
def given(tmp_path: Path) -> tuple[str, ...]:
    """A prompt and a folder of tools, for runs that know none of their own."""
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "ask.py").write_bytes(TOOL)
    (tmp_path / "prompt.txt").write_text("What the rules stand for.")
    return "--prompt", str(tmp_path / "prompt.txt"), "--tools", str(tmp_path / "tools")


@pytest.mark.few(1)
@pytest.mark.parametrize("track", ["B", "C"])
def test_a_debate_comes_back_as_it_was(made: Path, tmp_path: Path, track: str) -> None:
    out = tmp_path / "debate.zip"
    result = packaged(made, "debate", track, out)
    assert rules(result, "rejected") == set()
    assert rules(result, "against_rules") >= (
        {"other_model"} if track == "B" else {"model_size", "tools_in_c"}
    )
    assert result["sha256"] == hashlib.sha256(out.read_bytes()).hexdigest()
    fresh = workspace_with(tmp_path / "fresh", ROWS).settings.workspace
    [record] = core_json(fresh, "import", str(out), "--name", "back")["imported"]
    assert (record["rows"], record["rejected"]) == (ROWS, 0)
    assert rows_of(fresh, "back") == rows_of(made, "debate")
    with open_workspace(Settings(workspace=fresh)).store.read() as db:
        back = runs.find(db, "back")
    assert (back.method, back.model, back.track) == ("debate", "scripted", track)


@pytest.mark.soak
@pytest.mark.usefixtures("others")
@pytest.mark.parametrize("agent", ["react", "coordinator"])
def test_an_agents_run_comes_back_as_it_was_and_is_the_same_again(
    made: Path, tmp_path: Path, agent: str
) -> None:
    first, second = tmp_path / "first.zip", tmp_path / "second.zip"
    assert rules(packaged(made, agent, "B", first), "rejected") == set()
    assert {"base_rates.py", "train_lookup.py"} & tools_in(first)
    fresh = workspace_with(tmp_path / "fresh", ROWS).settings.workspace
    core_json(fresh, "import", str(first), "--name", "back")
    assert rows_of(fresh, "back") == rows_of(made, agent)
    (tmp_path / "prompt.txt").write_bytes(member(first, "prompt.txt"))
    with zipfile.ZipFile(first) as archive:
        archive.extractall(tmp_path / "out")
    packaged(
        fresh,
        "back",
        "B",
        second,
        "--prompt",
        str(tmp_path / "prompt.txt"),
        "--tools",
        str(tmp_path / "out" / "tools"),
    )
    assert second.read_bytes() == first.read_bytes()


def member(file: Path, name: str) -> bytes:
    with zipfile.ZipFile(file) as archive:
        return archive.read(name)


def tools_in(file: Path) -> set[str]:
    with zipfile.ZipFile(file) as archive:
        return {
            name.removeprefix("tools/") for name in archive.namelist() if name.startswith("tools/")
        }


@pytest.mark.soak
@pytest.mark.usefixtures("others")
def test_track_a_has_a_column_for_each_seed(made: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.zip"
    result = packaged(made, "prompt_only", "A", out)
    assert rules(result, "against_rules") <= {"other_model"}
    assert rules(result, "look") <= {"fewer_seeds", "ties"}
    fresh = workspace_with(tmp_path / "fresh", ROWS).settings.workspace
    core_json(fresh, "import", str(out), "--name", "back")
    ours, theirs = rows_of(made, "prompt_only"), rows_of(fresh, "back")
    assert list(ours) == list(theirs)
    for key, row in ours.items():
        answers = [event for event in row.events if event.kind == "answer"]
        assert [event.stage for event in theirs[key].events] == [event.stage for event in answers]
        assert theirs[key].prediction.prediction_up == row.prediction.prediction_up
        assert theirs[key].prediction.prompt_tokens == row.prediction.prompt_tokens


@pytest.mark.soak
@pytest.mark.usefixtures("others")
def test_a_run_without_a_prompt_is_not_packaged(made: Path, tmp_path: Path) -> None:
    out = tmp_path / "rules.zip"
    done = core(made, "package", "rules", "--track", "B", "--out", str(out), "--json")
    assert done.status == 1
    result = json.loads(done.out)
    assert (result["path"], result["sha256"]) == (None, None)
    assert rules(result, "rejected") == set()
    assert "prompt_missing" in rules(result, "against_rules")
    assert not out.exists()
    assert done.err == f"error: rules: prompt_missing, so nothing was written to {out}\n"
    words = core(made, "package", "rules", "--track", "B", "--out", str(out)).out
    assert words.startswith("rules: not packaged\nagainst the rules: ")
    assert "  prompt_missing: prompt.txt: not in the zip" in words


@pytest.mark.soak
def test_texts_that_have_changed_since_are_no_longer_the_prompt(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, after, kept = tmp_path / "before.zip", tmp_path / "after.zip", tmp_path / "prompt.txt"
    packaged(made, "debate", "B", before)
    monkeypatch.setattr(Debate, "prompts", lambda *_: "other words")
    done = core(made, "package", "debate", "--track", "B", "--out", str(after), "--json")
    assert {"prompt_missing", "prompt_differs"} <= rules(json.loads(done.out), "against_rules")
    kept.write_bytes(member(before, "prompt.txt"))  # whoever kept the text can show that it was run
    packaged(made, "debate", "B", after, "--prompt", str(kept))
    assert after.read_bytes() == before.read_bytes()


@pytest.mark.soak
@pytest.mark.usefixtures("others")
def test_a_fusion_of_runs_with_prompts_has_theirs_and_their_tools(
    made: Path, tmp_path: Path
) -> None:
    out, place = tmp_path / "both.zip", tmp_path / "copy"
    shutil.copytree(made, place)
    weights = ("--w-de", "0.5,0.1", "--w-dir", "0.5,0.1")
    core_json(
        place, "fuse", "--base", "debate", "--with", "prompt_only,rules", *weights, "--name", "all"
    )
    packaged(place, "all", "B", out, "--fusion-trace")
    text = member(out, "prompt.txt").decode()
    for run, track in (("debate", "B"), ("prompt_only", "A")):
        alone = tmp_path / f"{run}.zip"
        packaged(made, run, track, alone)
        assert member(alone, "prompt.txt").decode() in text
    assert {"base_rates.py", "gene_class.py", "train_lookup.py"} <= tools_in(out)
    [first, *_] = rows_of(place, "all")
    core_json(place, "import", str(out), "--name", "back")
    assert rows_of(place, "back")[first].events[0] == rows_of(place, "debate")[first].events[0]


@pytest.mark.soak
def test_a_package_stands_in_the_trail(made: Path, tmp_path: Path) -> None:
    result = packaged(made, "debate", "B", tmp_path / "d.zip")
    with open_workspace(Settings(workspace=made)).store.read() as db:
        last = changes.latest(db).iloc[0]
    assert (last["action"], last["subject"]) == ("package", "debate")
    assert json.loads(last["detail"])["sha256"] == result["sha256"]


def test_check_a_package_against_the_run_it_came_from(made: Path, tmp_path: Path) -> None:
    out = tmp_path / "d.zip"
    packaged(made, "debate", "B", out)
    result = core_json(made, "check", str(out), "--track", "B", "--run", "debate")
    assert (result["valid"], set(result)) == (True, {"valid", "problems"})
    other = tmp_path / "other.txt"
    other.write_text("Another prompt.")
    result = core_json(made, "check", str(out), "--track", "B", "--prompt", str(other))
    assert result["valid"]
    assert "prompt_differs" in rules(result, "against_rules")


@pytest.mark.soak
def test_check_names_every_row(made: Path, tmp_path: Path) -> None:
    file = tmp_path / "s.csv"
    file.write_bytes(
        cases.submission([("Qb0_Hb0", 0.9, 0.3, "none"), ("Qb9_Hb9", 0.1, 0.1, "because")])
    )
    result = core_json(made, "check", str(file), "--track", "B")
    assert all(set(problem) == PROBLEM for problem in result["problems"])
    found = {problem["rule"]: problem["rows"] for problem in result["problems"]}
    missing = [f"Qb{i % 7}_Hb{i}" for i in range(1, ROWS)]
    assert found["missing_ids"] == missing
    assert found["unknown_ids"] == ["Qb9_Hb9"]
    assert found["out_of_range"] == ["Qb0_Hb0"]
    words = core(made, "check", str(file), "--track", "B")
    assert words.status == 0
    first = f"{file}: not valid for track B\nrejected: 1\n  missing_ids: 7 of 8 ids are missing: Qb1_Hb1, Qb2_Hb2, Qb3_Hb3"
    assert words.out.startswith(first)


def test_check_takes_the_rows_of_a_list(made: Path, tmp_path: Path) -> None:
    ids = ["Qb3_Hb3", "Qb0_Hb0"]
    file, listed = tmp_path / "s.csv", tmp_path / "ids.csv"
    file.write_bytes(
        cases.submission(
            [(key, 0.1 * (i + 1), 0.3 - 0.1 * i, "because") for i, key in enumerate(ids)]
        )
    )
    listed.write_bytes(cases.as_csv(["id", "more"], [[key, "x"] for key in ids]))
    arguments = ("check", str(file), "--track", "B", "--rows", f"ids={listed}")
    assert core_json(made, *arguments)["valid"]
    listed.write_bytes(cases.as_csv(["id"], [["Qb1_Hb1"], *([key] for key in reversed(ids))]))
    assert rules(core_json(made, *arguments), "rejected") == {"missing_ids"}
    listed.write_bytes(b"id\nPz_Gz\n")
    done = core(made, *arguments)
    assert (done.status, done.out) == (1, "")
    assert "1 of 1 ids are not in the dataset, such as 'Pz_Gz'" in done.err


@pytest.mark.soak
def test_what_cannot_be_checked(made: Path, workspace: Workspace, tmp_path: Path) -> None:
    file = tmp_path / "s.csv"
    done = core(made, "check", str(file), "--track", "B")
    assert (done.status, done.err) == (
        1,
        f"error: {file}: cannot be read (No such file or directory)\n",
    )
    file.write_bytes(b"id\n")
    done = core(workspace, "check", str(file), "--track", "B")
    assert (done.status, done.err) == (
        1,
        "error: this workspace has no dataset; import one first\n",
    )
    assert core(made, "check", str(file), "--track", "D").status == 2
    file.write_bytes(b"PK\x03\x04")
    assert core_json(made, "check", str(file), "--track", "B")["valid"] is False


@pytest.mark.soak
def test_a_fusion_is_packaged_with_what_its_base_said(
    workspace: Workspace, tmp_path: Path, given: tuple[str, ...]
) -> None:
    worlds.furnish(workspace)
    place = workspace.settings.workspace
    core_json(place, "knn --space near --protocol test --name 'near test'")
    core_json(
        place,
        "fuse --base 'llm test' --with 'near test' --w-de 0.5 --w-dir 0.5 --name both",
    )
    plain, full = tmp_path / "plain.zip", tmp_path / "full.zip"
    result = packaged(place, "both", "B", plain, *given)
    [learned] = [
        problem["message"] for problem in result["problems"] if problem["rule"] == "learned"
    ]
    assert "near test, a kNN over the training labels (gene spaces: near" in learned
    packaged(place, "both", "B", full, *given, "--fusion-trace")
    core_json(place, "import", str(full), "--name", "full")
    fused, base, found = (rows_of(place, name) for name in ("both", "llm test", "full"))
    for key, row in found.items():
        assert row.prediction == fused[key].prediction
        assert row.events == (*base[key].events, *fused[key].events)


def test_an_imported_fusion_gets_the_arithmetic(
    small_workspace: Workspace, tmp_path: Path, given: tuple[str, ...]
) -> None:
    place = small_workspace.settings.workspace
    ids = tmp_path / "ids.csv"
    ids.write_bytes(b"id\nPb_Ga\nPa_Ga\n")
    out = tmp_path / "d.zip"
    arguments = (*given, "--rows", f"ids={ids}")
    result = packaged(place, "debate", "B", out, *arguments)
    assert {problem["rule"]: problem["rows"] for problem in result["problems"]}[
        "trace_differs"
    ] == ["Pb_Ga"]
    result = packaged(place, "debate", "B", out, *arguments, "--fusion-trace", "--replace")
    assert "trace_differs" not in rules(result, "look")
    assert {problem["rule"]: problem["rows"] for problem in result["problems"]}["run_and_file"] == [
        "Pa_Gb",
        "Pc_Gc",
    ]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("code_version", "changed"),
    [
        (__version__, ""),
        (f"{__version__}+0123456789", ""),  # another commit of the same version
        ("0.1.0", f"made by version 0.1.0; prompt and tools are those of {__version__}"),
        ("0.1.0+0123456789", f"made by version 0.1.0; prompt and tools are those of {__version__}"),
    ],
)
def test_a_run_of_another_version_is_named(
    small_workspace: Workspace, code_version: str, changed: str
) -> None:
    with small_workspace.store.write() as db:
        db.execute("UPDATE run SET code_version = ?", [code_version])
        line = runs.lineage(db, [runs.find(db, "debate")])
        assert provenance_of(db, line, prompts_of(small_workspace, db, line)).changed == changed

"""What the version before (README.md) made opens, resumes and imports, and its commands print what they printed."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from core.actions import attribution, benchmarks, rubrics, run_control
from core.actions import runs as run_actions
from core.actions.label_files import import_csv
from core.actions.workspace import Workspace, open_workspace
from core.config import Settings
from core.experiments import benchmark_words
from core.experiments.attribution import report_attribution
from core.experiments.attribution_words import attribution_json
from core.experiments.benchmark_report import report_benchmark
from core.experiments.benchmark_spec import read_benchmark
from core.methods.fusion_settings import FusionSettings
from core.store import notes, traces
from core.store import runs as run_lines
from tests.bundled import everything, stored
from tests.commands import core, core_json
from tests.compatibility.old_files import check_journal, follow, import_file, journal_of, resume
from tests.derived import save_fusion
from tests.ui.conftest import Visit, visit

__all__ = ["visit"]  # the fixture, which pytest finds by its name here

FILES = Path(__file__).parent / "0.2.0"
RUNS: dict[str, dict[str, Any]] = {run["name"]: run for run in json.loads((FILES / "runs.json").read_text("utf-8"))}
LINKS: dict[str, dict[str, Any]] = json.loads((FILES / "links.json").read_text("utf-8"))
OUTPUTS: dict[str, Any] = {" ".join(each["command"]): each for each in json.loads((FILES / "outputs.json").read_text("utf-8"))}
# Of a fusion that was saved at the preset's weights, as `score` printed them.
PRESET_SCORES = {"de": 0.7941176470588235, "dir": 0.25, "mean": 0.5220588235294117}
KILLED_ROWS, KILLED_JOURNALLED = 30, 7
JOURNALS = {"kNN", "fused", "recovered", "rules", "asked", "argued", "run knn", "stopped by its budget"}  # among others

# Differences that are meant: commands (a regular expression), keys (another), and why.
INTERVALS = "intervals have Satterthwaite's degrees of freedom and logit limits; over too few rows there is none"
WORDS = "the same in plain words"
UNMEASURED = "the time that it took"
ESTIMATING = r"score|compare|controls|ablation run|benchmark|knn|baselines|audit leakage|seeds|plan|again"
INTENDED = [
    (ESTIMATING, r"(.*\.)?((change_)?(low|high)|se|p|p_holm|p_bh|p_gt_0(\.\w+)?|detectable(\.\w+)?|unit)", INTERVALS),
    (r"plan|seeds", r".*(rows_needed|needs\.\d+\.needed|share_of_seeds|enough)", INTERVALS),
    (r"ledger|benchmark", r".*\b(verdict|words|reason|tests)", "verdicts follow from intervals by one rule"),
    (r"benchmark", r"hypothesis\.(when|code_version|id)", "its interval is another, so the ledger has its result once more"),
    (r"ledger import", r".*\.(when|code_version|id|first)", "it was imported just now"),
    (r"audit leakage", r"spaces\.\w+\.probes\.\w+", "the probes of a space are a list by axis, question and set of rows"),
    (r"compare", r".*\bverdict", WORDS),
    (r"controls", r"controls\..*\.about", WORDS),
    (r"ablation", r"ablations\.\w+\.(question|missing\.\d+)|sentence|remarks\.\d+", WORDS),
    (r"rubric worth|clusters|ledger", r"(.*\.)?sentences\.\d+", WORDS),
    (r"targets table", r"not_comparable\.\d+", WORDS),
    (r"knn|ablation run", r"seconds", UNMEASURED),
    (r"ask", r"run|name", "the debate reads answers otherwise, so it is asked again"),
    (r"ask", r"trace\.\d+\.latency_ms", UNMEASURED),
    (r"again", r"(un)?changed_run", "the debate reads answers otherwise, so it is asked again"),
]
# Commands that made runs with a method that reads answers otherwise today, and how they are refused. Their results are below.
REFUSED = {
    "rubric run commits-itself argued": "made by version 1 of judge_rubric, which is now 2",
    "benchmark seeds.toml": "made by version 1 of prompt_only, which is now 2",
    "attribute argued": "its method's version changed since it was made, so asking again would not repeat it",
}


def test_every_run_is_listed_with_its_counts_and_predictions(old: Workspace) -> None:
    lines = {line["name"]: line for line in core_json(old.settings.workspace, "runs")["runs"]}
    assert lines.keys() == RUNS.keys()
    for name, run in RUNS.items():
        same = ("id", "method", "status", "total", "done", "failed")
        assert {key: lines[name][key] for key in same} == {key: run[key] for key in same}
        with old.store.read() as db:
            rows = [row.prediction for row in traces.rows(db, run["id"]).values()]
        assert len(rows) == run["done"]
        if run["up"] is None:  # a reading predicts nothing
            continue
        assert sum(row.prediction_up for row in rows) == pytest.approx(run["up"], rel=1e-12), name
        assert sum(row.prediction_down for row in rows) == pytest.approx(run["down"], rel=1e-12), name


def test_notes_scores_and_parents_are_there(old: Workspace) -> None:
    with old.store.read() as db:
        argued, fused = run_lines.find(db, "argued"), run_lines.find(db, "fused")
        assert notes.of_row(db, argued.id, "Simdubo8_Simmimu9")["text"].tolist() == ["a note on a row"]
        assert sorted(notes.of_run(db, argued.id)["text"]) == ["a note on a row", "a note on the run"]
    parents = (RUNS["simulated debate"]["id"], RUNS["kNN"]["id"])
    assert (fused.public_score, fused.note, fused.parents) == (0.6, "the best", parents)


def test_journals_say_what_the_store_says(old: Workspace) -> None:
    journalled = [name for name, run in RUNS.items() if old.run_folder(run["id"]).rows.is_file()]
    assert {*journalled} >= JOURNALS
    for name in journalled:
        if name != "killed":  # its last row is torn
            check_journal(old, name)


def test_the_killed_run_resumes_and_no_row_is_asked_for_again(old: Workspace, server: str) -> None:
    journal = journal_of(old, "killed")
    before = journal.read_bytes()
    written = before[: before.rindex(b"\n") + 1]
    assert (written.count(b"\n"), before.endswith(b"\n")) == (KILLED_JOURNALLED, False)
    assert run_control.states(old)[RUNS["killed"]["id"]].state == "crashed"
    assert run_control.settle(old, "killed").done == KILLED_JOURNALLED
    finished = resume(old, "killed", server)
    assert (finished.id, finished.status, finished.done, finished.failed) == (RUNS["killed"]["id"], "done", KILLED_ROWS, 0)
    assert journal.read_bytes().startswith(written)


def test_the_run_that_its_budget_stopped_resumes_with_more(old: Workspace, server: str) -> None:
    finished = resume(old, "stopped by its budget", server, budget=100_000)
    assert (finished.status, finished.done, finished.total, finished.tokens_unknown) == ("done", 30, 30, 0)
    assert finished.tokens is not None
    assert finished.tokens > 1765  # what its first two rows cost


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["argued", "fused", "rules"])
def test_a_bundle_comes_in_as_it_was(unpacked: Path, old: Workspace, name: str) -> None:
    before = everything(old)
    again = import_file(old, FILES / f"{name}.bundle.zip")
    assert (again.name, again.new) == (name, False)
    assert everything(old) == before
    run_actions.delete(old, name)
    outcome = import_file(old, FILES / f"{name}.bundle.zip")
    assert (outcome.name, outcome.rows, outcome.new) == (name, RUNS[name]["done"], True)
    ours = stored(open_workspace(Settings(workspace=unpacked)), name)
    assert {table: rows for table, rows in stored(old, name).items() if rows != ours[table]} == {}


def test_the_packaged_submission_comes_in_with_its_predictions(old: Workspace) -> None:
    outcome = import_file(old, FILES / "asked-test.zip")
    assert (outcome.kind, outcome.rows, outcome.rejected) == ("submission", 30, ())
    with old.store.read() as db:
        sent, back = traces.rows(db, RUNS["asked, test"]["id"]), traces.rows(db, run_lines.find(db, outcome.name).id)
    assert sent.keys() == back.keys()
    for key, row in sent.items():
        assert back[key].prediction.prediction_up == pytest.approx(row.prediction.prediction_up, abs=1e-6)
        assert back[key].prediction.prediction_down == pytest.approx(row.prediction.prediction_down, abs=1e-6)


def test_labels_of_people_are_known_already(old: Workspace) -> None:
    rubric = rubrics.find(old, "names-a-pathway")
    found = import_csv(old, rubric, RUNS["argued"]["id"], (FILES / "labels.csv").read_bytes(), "labels.csv")
    assert (found.new, found.changed, found.known) == (0, 0, 4)


@pytest.mark.parametrize("file", ["names_a_pathway.toml", "commits_itself.toml"])
def test_a_file_of_a_rubric_is_the_rubric_that_was_made_of_it(old: Workspace, file: str) -> None:
    before = rubrics.list_all(old)
    rubric = rubrics.add_file(old, FILES / file)
    assert rubrics.list_all(old) == before
    assert rubrics.find(old, rubric.name) == rubric


def test_files_of_benchmarks_are_the_benchmarks_that_were_made_of_them(old: Workspace) -> None:
    saved = {each.spec.name: each for each in benchmarks.STUDY.list_saved(old)}
    for file in ("benchmark.toml", "seeds.toml"):
        spec = read_benchmark(FILES / file)
        assert saved[spec.name].spec == spec
        assert saved[spec.name].is_done


def test_a_benchmark_under_an_earlier_version_of_its_method_shows_what_it_showed(old: Workspace) -> None:
    saved = benchmarks.STUDY.find_saved(old, "two seeds of a prompt")
    with old.store.read() as db:
        found = report_benchmark(db, saved.spec, saved.dataset, saved.rows, saved.runs)
    name = "benchmark seeds.toml"
    before = {key: value for key, value in OUTPUTS[name]["output"].items() if key != "hypothesis"}  # it registers none
    check(name, before, benchmark_words.benchmark(found))


def test_an_attribution_shows_what_it_showed(old: Workspace) -> None:
    [saved] = attribution.STUDY.list_saved(old)
    with old.store.read() as db:
        found = report_attribution(db, saved.spec, saved.runs)
    name = "attribute argued --rows sample=2 --repeats 2 --tools base_rates"
    check(name, OUTPUTS[name]["output"], attribution_json(found))


def test_a_reading_is_counted_as_it_was(old: Workspace) -> None:
    before = OUTPUTS["rubric run commits-itself argued"]["output"]["roles"]["JUDGE"]
    now = core_json(old.settings.workspace, "rubric", "rate", "commits-itself", "argued")["roles"]["JUDGE"]
    assert (now["n"], now["yes"], now["rate"]["estimate"]) == (before["n"], before["yes"], before["rate"])


def test_the_preset_is_there_and_its_weights_score_as_they_did(old: Workspace) -> None:
    base, knn = RUNS["simulated debate"]["id"], RUNS["kNN"]["id"]
    with old.store.read() as db:
        [(name, values)] = notes.presets_of_page(db, "what-if").items()
    weights = values[f"w_de_{knn}"], values[f"w_dir_{knn}"]
    assert (name, weights) == ("mine", (0.3, 0.65))
    save_fusion(old, FusionSettings(base, (knn,), weights[:1], weights[1:]), "preset")
    score = core_json(old.settings.workspace, "score", "preset", "--no-bootstrap")
    found = {axis: score[axis]["estimate"] for axis in PRESET_SCORES}
    assert found == {axis: pytest.approx(value, rel=1e-12) for axis, value in PRESET_SCORES.items()}
    run_actions.delete_preset(old, "what-if", "mine")


def test_the_saved_report_is_built(old: Workspace, tmp_path: Path) -> None:
    done = core(old.settings.workspace, "report", "build", "paper", "--out", str(tmp_path / "paper.html"))
    assert done.status == 0, done.err
    assert "simulated debate" in (tmp_path / "paper.html").read_text("utf-8")


@pytest.mark.few(3)
@pytest.mark.parametrize("name", LINKS)
def test_a_link_shows_its_controls_as_they_were(
    visit: Visit, old: Workspace, server: str, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("PERTURBDESK_ENDPOINT", server)
    killed = "its worker ended without giving a reason"  # stands on the page of runs
    app = follow(visit, old, LINKS[name]["link"], (killed,))
    for key, value in LINKS[name]["values"].items():
        if key != "tab":  # tabs became pages, which `tests/ui/shared/test_addresses.py` holds
            now = app.session_state[key if key in app.session_state else f"id-{key}"]  # a choice by id has another key
            assert (list(now) if isinstance(now, tuple) else now) == value


@pytest.mark.few(8)
@pytest.mark.parametrize("name", OUTPUTS)
def test_a_command_prints_what_it_printed(old: Workspace, server: str, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("PERTURBDESK_ENDPOINT", server)
    monkeypatch.setenv("PERTURBDESK_AUTHOR", "tester")
    monkeypatch.chdir(FILES)
    command, before = OUTPUTS[name]["command"], OUTPUTS[name]["output"]
    done = core(old.settings.workspace, *command, "--json")
    refusals = [text for begun, text in REFUSED.items() if name.startswith(begun)]
    if refusals:
        assert done.status == 1
        assert refusals[0] in done.err
        return
    assert done.status == 0, done.err
    check(name, before, json.loads(done.out))


def check(command: str, before: Any, after: Any) -> None:
    """Every value of before is in after, but for what INTENDED lists."""
    found = dict(differences(before, json.loads(json.dumps(after), parse_constant=lambda _: None)))  # NaN is null
    meant = [re.compile(f"(?:{commands}).*: (?:{keys})") for commands, keys, _ in INTENDED]
    assert {key: text for key, text in found.items() if not any(each.fullmatch(f"{command}: {key}") for each in meant)} == {}


def differences(before: Any, after: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Every place where a value of before is gone or is another; entries of lists that have names are found by name."""
    within = f"{path}." if path else ""
    pairs = named(before), named(after)
    if all(each is not None for each in pairs):
        for key, value in pairs[0].items():
            if key in pairs[1]:
                yield from differences(value, pairs[1][key], f"{within}{key}")
            else:
                yield f"{within}{key}", f"{str(value)[:80]} is gone"
    elif is_number(before) and is_number(after):
        if not math.isclose(before, after, rel_tol=1e-12, abs_tol=1e-12):
            yield path, f"{before} → {after}"
    elif before != after:
        yield path, f"{str(before)[:80]!r} → {str(after)[:80]!r}"


def named(value: Any) -> Mapping[str, Any] | None:
    """The parts of an object or a list by name; None of anything else."""
    if isinstance(value, dict):
        return value
    if not isinstance(value, list):
        return None
    for key in ("name", "id", "pair_id"):
        names = [each.get(key) if isinstance(each, dict) else None for each in value]
        if names and None not in names and len({*names}) == len(names):
            return dict(zip(names, value, strict=True))
    return {str(at): each for at, each in enumerate(value)}


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)

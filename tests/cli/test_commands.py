"""The contract of the command line: JSON on standard output, words on standard error, exit statuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from core.base.config import REPOSITORY
from core.runs.workspace import Workspace
from core.scoring import run_scores
from tests import cases
from tests.commands import Done, core, core_json
from tests.scoring.test_run_scores import CELLS, FOLDS, rows_of


def core_process(place: Path, *arguments: str, **environment: str) -> Done:
    done = subprocess.run(
        [sys.executable, "-m", "core", "--workspace", str(place), *arguments],
        cwd=REPOSITORY,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    for name, content in (
        ("train.csv", cases.TRAIN),
        ("test.csv", cases.TEST),
        ("debate.csv", cases.DEBATES),
    ):
        (folder / name).write_bytes(content)
    return folder


def test_a_run_from_import_to_deletion(tmp_path: Path, files: Path) -> None:
    place = tmp_path / "workspace"
    imported = core_json(place, "import", str(files))["imported"]
    assert [(i["kind"], i["name"], i["rows"], i["rejected"]) for i in imported] == [
        ("challenge_train", "bmdm", 4, 0),
        ("challenge_test", "bmdm", 2, 0),
        ("submission", "debate", 4, 0),
    ]
    [run] = core_json(place, "runs")["runs"]
    assert {
        "name",
        "id",
        "method",
        "dataset",
        "status",
        "total",
        "done",
        "failed",
        "fallbacks",
        "tokens",
        "public_score",
    } <= set(run)
    assert (run["name"], run["dataset"], run["done"], run["fallbacks"], run["public_score"]) == (
        "debate",
        "bmdm",
        4,
        1,
        None,
    )
    assert core_json(place, "runs set debate public_score=0.6 'note=a = b'")["note"] == "a = b"
    assert core_json(place, "runs", "rename", run["id"], "argued")["name"] == "argued"
    audit = core_json(place, "audit debate argued")
    of_up = {
        "n": 3,
        "short": 1,
        "option": 1,
        "against": 1,
        "cites": None,
        "answers": 1,
        "answers_against": 1,
        "bare": 0,
    }
    assert of_up.items() <= audit["roles"]["UP"].items()
    assert audit["rows_by_arguing"] == [0, 0, 0, 1, 2]
    assert (audit["de_fallbacks"], audit["dir_fallbacks"]) == (0, 0)
    note = core_json(place, "note add argued 'look here' --row Pa_Ga")["note"]
    [listed] = core_json(place, "note list argued")["notes"]
    assert (listed["id"], listed["run"], listed["pair_id"], listed["figure"], listed["text"]) == (
        note,
        "argued",
        "Pa_Ga",
        None,
        "look here",
    )
    assert core_json(place, "note list argued --author nobody")["notes"] == []
    assert core_json(place, "note", "delete", note) == {"deleted": note}
    assert core_json(place, "note list argued")["notes"] == []
    assert core_json(place, "undo", "argued")["rows"] == 4
    assert core_json(place, "runs") == {"runs": []}
    core_json(place, "import", str(files / "debate.csv"), "--name", "again")
    assert core_json(place, "runs delete again")["name"] == "again"


@pytest.mark.soak
@pytest.mark.parametrize(("form", "needle"), [("csv", "Pa_Ga,"), ("jsonl", '"pair_id":"Pa_Ga"')])
def test_export_to_standard_output(small_workspace: Workspace, form: str, needle: str) -> None:
    done = core(small_workspace, "export", "debate", "--format", form)
    assert done.status == 0
    assert needle in done.out
    traces = core(small_workspace, "export", "debate", "--format", form, "--traces").out
    assert "does not affect Gb" in traces


def test_export_to_a_file(small_workspace: Workspace, tmp_path: Path) -> None:
    out = tmp_path / "rows.parquet"
    result = core_json(
        small_workspace,
        "export",
        "debate",
        "--format",
        "parquet",
        "--out",
        str(out),
    )
    assert result == {"path": str(out), "rows": 4}
    assert out.read_bytes()[:4] == b"PAR1"


@pytest.mark.few(6)
@pytest.mark.parametrize(
    ("command", "status", "words"),
    [
        ("runs rename nothing x", 1, "not in this workspace"),
        ("import absent.csv", 1, "no such file"),
        ("runs set debate public_score=lots", 1, "between 0 and 1"),
        ("audit debate nothing", 1, "not in this workspace"),
        ("export debate --format parquet", 1, "--out"),
        ("bench nothing", 1, "no such benchmark"),
        ("fetch nothing", 1, "challenge"),
        ("export debate --format xlsx", 2, "xlsx"),
        ("runs rename debate", 2, ""),
        ("no-such-command", 2, ""),
    ],
)
def test_wrong_input_and_wrong_usage(
    small_workspace: Workspace, command: str, status: int, words: str
) -> None:
    done = core(small_workspace, command)
    assert done.status == status
    assert done.out == ""
    assert words in done.err
    assert "Traceback" not in done.err
    if status == 1:
        assert len(done.err.strip().splitlines()) == 1


@pytest.mark.soak
def test_a_rejected_row_is_said_and_strict_fails(
    small_workspace: Workspace, tmp_path: Path
) -> None:
    file = tmp_path / "bad.csv"
    file.write_bytes(
        cases.submission([("Pa_Ga", 0.1, 0.1, "none"), ("Nobody_Knows", 0.1, 0.1, "none")])
    )
    strict = core(small_workspace, "import", str(file), "--strict")
    assert strict.status == 1
    assert "Nobody_Knows" in strict.err
    loose = core(small_workspace, "import", str(file), "--json")
    assert loose.status == 0
    assert "line 3: unknown id" in loose.err
    assert json.loads(loose.out)["imported"][0]["rejected"] == 1


@pytest.mark.soak
def test_the_workspace_may_come_from_the_environment(small_workspace: Workspace) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "core", "runs", "--json"],
        cwd=REPOSITORY,
        env={**os.environ, "PERTURBDESK_WORKSPACE": str(small_workspace.settings.workspace)},
        capture_output=True,
        check=True,
    )
    assert [run["name"] for run in json.loads(done.stdout)["runs"]] == ["debate"]


@pytest.mark.soak
def test_read_only_from_the_environment(small_workspace: Workspace) -> None:
    done = core_process(
        small_workspace.settings.workspace, "runs", "delete", "debate", PERTURBDESK_READ_ONLY="1"
    )
    assert done.status == 1
    assert "reading only" in done.err


@pytest.mark.soak
def test_score_compare_and_leakage(little_demo: Workspace) -> None:
    place = little_demo.settings.workspace
    score = core_json(place, "score", "simulated debate")
    assert {"n", "n_labelled", "n_de", "de", "dir", "mean", "unit"} <= set(score)
    assert score["de"]["low"] < score["de"]["estimate"] < score["de"]["high"]
    plain = score["mean"]["two_way"]
    assert score["mean"]["se"] >= plain["se"]
    assert score["mean"]["high"] - score["mean"]["low"] > plain["high"] - plain["low"]
    assert score["mean"]["clusters"] > 1
    assert score["macro"]["gene"]["de"]["groups"] > 1
    assert [one["k"] for one in score["at_k"]["dir"]] == [20, 50, 100, 200]
    product = score["product"]
    assert product["low"] < score["mean"]["estimate"] < product["high"]
    assert core_json(place, "score 'simulated debate' --no-bootstrap")["product"] is None
    asked = core(place, "score 'simulated debate' --bootstrap").out
    assert f"[{product['low']:.3f}, {product['high']:.3f}]" in asked
    assert "product bootstrap of perturbations and genes, 4,000" in asked
    slices = core_json(place, "score 'simulated debate' --by \"gene's rows\"")["slices"]
    assert sum(part["n"] for part in slices) == score["n"]
    genes = core_json(place, "score 'simulated debate' --by gene")
    assert sum(part["n"] for part in genes["slices"]) == score["n"]
    assert "macro" not in genes
    compared = core_json(place, "compare 'simulated collapsed debate' 'simulated debate'")
    assert {"n", "delta_de", "delta_dir", "delta_mean", "p_gt_0", "detectable", "sentence"} <= set(
        compared
    )
    assert {"row", "pert", "two_way"} <= set(compared["delta_mean"])
    assert compared["delta_mean"]["clusters"] > 1
    assert (compared["equivalence"], compared["all_rows"], compared["scored"]) == (
        None,
        None,
        "all rows",
    )
    wide = core_json(place, "compare 'simulated collapsed debate' 'simulated debate' --margin 0.4")[
        "equivalence"
    ]
    assert (wide["margin"], wide["equal"]) == (0.4, True)
    several = core_json(
        place,
        "compare 'simulated collapsed debate' 'simulated debate,simulated collapsed debate'",
    )["comparisons"]
    assert [each["b"] for each in several] == ["simulated debate", "simulated collapsed debate"]
    assert several[0]["delta_mean"] == compared["delta_mean"]
    assert all(each["p"] <= each["p_bh"] <= each["p_holm"] for each in several)
    refused = core(place, "compare 'simulated debate' 'simulated debate' --margin -1")
    assert (refused.status, "expected a difference above 0" in refused.err) == (1, True)
    unlabelled = core_json(place, "score", "simulated debate test")
    assert (unlabelled["n_labelled"], unlabelled["mean"], unlabelled["macro"]["gene"]["de"]) == (
        0,
        None,
        None,
    )
    leakage = core_json(place, "audit leakage --dataset simulated")
    keys = {
        "count_only_de",
        "count_only_de_without_singletons",
        "rarer_up_dir",
        "shared_perts",
        "shared_genes",
    }
    assert keys <= set(leakage)
    assert leakage["shared_perts"] == leakage["shared_genes"] == 0


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["simulated debate test"], "it has no labels here"),
        (["simulated debate", "--by", "P(DE)"], "slices are not resampled"),
    ],
)
def test_what_cannot_be_resampled_is_refused(
    little_demo: Workspace, arguments: list[str], why: str
) -> None:
    done = core(little_demo, "score", *arguments, "--bootstrap")
    assert (done.status, why in done.err) == (1, True)


def test_rows_inside_cells_are_not_resampled() -> None:
    assert run_scores.why_not_resampled(rows_of()) == ""
    assert (
        run_scores.why_not_resampled(rows_of(protocols=(FOLDS,), cells=CELLS))
        == "it is scored inside 2×2 cells, cut 7"
    )


def test_score_by_an_unknown_slice_lists_the_known_ones(small_workspace: Workspace) -> None:
    done = core(small_workspace, "score debate --by colour")
    assert done.status == 1
    assert "target gene" in done.err

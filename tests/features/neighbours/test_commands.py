"""The contract of the commands for spaces, neighbours, fusion and decomposition: JSON, words, exit statuses."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.features.importing.actions import import_upload
from core.runs.component_loader import WorkspaceComponents, default_dataset
from core.runs.workspace import Workspace
from core.stats.official_score import score_with_intervals
from core.stats.scores_and_labels import ranked_scores
from core.store import predictions, runs
from core.transfer.protocols import EvaluationProtocol, cells_of, parts_of
from tests import cases, worlds
from tests.cli import test_commands
from tests.commands import core, core_json

EMBED = {"space", "genes", "columns", "coverage"}
KNN = {
    "coverage",
    "de",
    "dir",
    "de_covered",
    "dir_covered",
    "cuts",
    "saved",
    "null_de",
    "null_dir",
    "permuted",
    "seconds",
}
KNN |= {"n", "n_covered", "intervals"}
NEIGHBOURS = {"prior_de", "prior_up", "neighbours"}
NEIGHBOUR = {"pair_id", "weight", "share", "label"}
MADE = {"run", "rows", "uncovered"}


@pytest.fixture
def place(workspace: Workspace, furnished: Path) -> Path:
    """The same, to change."""
    return worlds.copied(furnished, workspace).settings.workspace


def file_of(folder: Path, name: str, content: bytes) -> str:
    (folder / name).write_bytes(content)
    return str(folder / name)


def test_from_a_process_of_its_own(furnished: Path) -> None:
    """Wrong input is one line on standard error and status 1; what is right is in tests/real, on real rows."""
    wrong = test_commands.core(furnished, "knn --space far")
    assert (wrong.status, wrong.out) == (1, "")
    assert wrong.err == "error: space 'far': not in this workspace, which has near\n"


@pytest.mark.soak
def test_spaces_are_built_loaded_listed_and_deleted(workspace: Workspace, tmp_path: Path) -> None:
    place = workspace.settings.workspace
    for name, content in (("train.csv", cases.TRAIN), ("test.csv", cases.TEST)):
        import_upload(workspace, content, name)
    for kind in worlds.PACKS:
        import_upload(workspace, worlds.pack(kind), f"{kind}.json")
    file = file_of(tmp_path, "any.csv", worlds.table_of({"Ga": [1, 0, 2], "Gm12": [0, 1, 1]}))
    commands = {
        "words": ("text", "--columns", "2"),
        "edges": ("network", "--columns", "2", "--pack", "network"),
        "lps": ("response",),
        "labels": ("coresponse", "--columns", "2"),
        "perts": ("coresponse", "--columns", "1", "--of", "pert", "--dataset", "bmdm"),
        "mine": ("load", file),
    }
    made = {
        name: core_json(place, "embed", *command, "--name", name)
        for name, command in commands.items()
    }
    # rows of Ga 2, Gb 2, Gc 1, Gm12 1: the labels know Ga and Gb, the file Ga and Gm12
    expected = {
        "words": (3, 2, 5 / 6),
        "edges": (3, 2, 5 / 6),
        "lps": (3, 3, 5 / 6),
        "labels": (1, 2, 2 / 6),  # Gb responds to nothing: a zero vector
        "perts": (2, 1, 0),
        "mine": (2, 3, 3 / 6),
    }
    assert {name: (m["genes"], m["columns"], m["coverage"]) for name, m in made.items()} == {
        name: (genes, columns, pytest.approx(share))
        for name, (genes, columns, share) in expected.items()
    }
    for name, record in made.items():
        assert set(record) >= EMBED
        assert record["space"] == name
        assert record["built_from"] == ("bmdm" if name in ("labels", "perts") else None)
    assert core_json(place, "embed", "list")["spaces"] == list(made.values())
    assert core_json(place, "embed text --name words --columns 2") == made["words"]
    other = core(place, "embed text --name words --columns 1")
    assert (other.status, other.out) == (1, "")
    assert "exists with another specification" in other.err
    assert core_json(place, "embed text --name words --columns 1 --replace")["columns"] == 1
    assert core_json(place, "embed delete mine") == {"deleted": "mine"}
    assert core_json(place, "embed", "load", file, "--name", "again")["space"] == "again"


def test_a_space_that_cannot_be_loaded_does_not_hide_the_others(
    place: Path, workspace: Workspace
) -> None:
    import_upload(workspace, worlds.pack("lps_response"), "lps.json")
    core_json(place, "embed response --name lps")
    core_json(place, "undo", "lps.json")
    shutil.rmtree(place / "cache")
    near, lps = core_json(place, "embed", "list")["spaces"]
    assert (near["space"], near["coverage"] > 0.8) == ("near", True)
    assert (lps["space"], lps["coverage"]) == ("lps", None)
    assert "pack 'lps': its file" in lps["notes"][-1]


@pytest.mark.soak
def test_an_unknown_dataset_is_refused_before_anything_is_built(
    place: Path, workspace: Workspace
) -> None:
    import_upload(workspace, worlds.pack("lps_response"), "lps.json")
    done = core(place, "embed response --name lps --dataset other")
    assert (done.status, "dataset 'other'" in done.err) == (1, True)
    assert [space["space"] for space in core_json(place, "embed", "list")["spaces"]] == ["near"]


@pytest.mark.few(1)
@pytest.mark.parametrize("protocol", ["loo", "test"])
def test_knn_prints_numbers_or_null_without_labels(place: Path, protocol: str) -> None:
    found = core_json(place, "knn", "--space", "near", "--protocol", protocol, "--name", "run")
    assert set(found) >= KNN
    assert 0 < found["coverage"] < 1
    assert found["seconds"] >= 0
    assert found["run"] == "run"
    numbers = [
        found[key] for key in ("de", "dir", "de_covered", "dir_covered", "null_de", "null_dir")
    ]
    assert (found["cuts"], found["permuted"]) == (None, None)
    assert found["saved"] == {"de": found["de"], "dir": found["dir"], "seed": None}
    told = core(place, "knn", "--space", "near", "--protocol", protocol)
    if protocol == "test":
        assert numbers == [None] * 6
        assert set(found["intervals"].values()) == {None}
        assert "No labels here, so no score" in told.out
        return
    assert all(0 <= number <= 1 for number in numbers)
    assert {"estimate", "low", "high", "se", "clusters"} < set(found["intervals"]["de"])
    assert found["intervals"]["de"]["estimate"] == found["de"]
    assert (told.status, told.out.count("with no gene information")) == (0, 2)


@pytest.mark.soak
def test_under_folds_knn_prints_the_mean_of_ten_cuts_and_its_null(place: Path) -> None:
    command = ("knn", "--space", "near", "--folds", "2", "--permutations", "19")
    found = core_json(place, *command, "--seed", "3")
    cuts = [core_json(place, *command, "--seed", str(seed))["saved"] for seed in range(10)]
    assert found["saved"] == cuts[3]
    assert [cut["seed"] for cut in cuts] == found["cuts"]["seeds"] == list(range(10))
    for name in ("de", "dir"):
        values = [cut[name] for cut in cuts]
        assert found["cuts"][name] == pytest.approx(values)
        assert found[name] == pytest.approx(np.mean(values))
        assert found["cuts"][f"{name}_sd"] == pytest.approx(np.std(values, ddof=1))
        assert (found["cuts"][f"{name}_low"], found["cuts"][f"{name}_high"]) == pytest.approx(
            (min(values), max(values))
        )
        assert found["intervals"][name]["estimate"] == found[name] != found[f"{name}_covered"]
        assert found["permuted"][f"{name}_p"] * 20 == pytest.approx(
            round(found["permuted"][f"{name}_p"] * 20)
        )
        assert 0 < found["permuted"][f"{name}_sd"] < 0.2
    assert found["scored"] == "mean of ten cuts (seeds 0–9), inside 2×2 cells"
    assert (found["cuts"]["n"], found["permuted"]["n"]) == (10, 19)
    assert (found["null_de"], found["null_dir"]) == pytest.approx((0.5, 0.5))
    told = core(place, *command)
    assert (told.status, told.out.count("permuted vectors 0.")) == (0, 2)
    assert "mean of ten cuts (seeds 0–9), inside 2×2 cells" in told.out
    assert "no gene information" not in told.out
    without = core_json(place, "knn --space near --folds 2 --permutations 0")
    assert without["permuted"] is None
    words = dict.fromkeys(("permuted", "seconds", "sentence", "caveats"))
    assert without | words == core_json(place, *command) | words


@pytest.mark.soak
def test_the_saved_run_scores_what_knn_calls_saved(place: Path, workspace: Workspace) -> None:
    found = core_json(
        place,
        "knn --space near --folds 2 --seed 4 --permutations 0 --name run",
    )
    with workspace.store.read() as db:
        rows = predictions.frame(db, runs.find(db, "run").id)
    index = WorkspaceComponents(workspace, default_dataset(workspace, None)).index()
    at = index.rows.take(index.positions_of(rows["pair_id"].tolist()))
    protocol = EvaluationProtocol("folds", 2, 4)
    cells = cells_of(protocol, at, parts_of(protocol, at))
    scores = ranked_scores(rows["prediction_up"], rows["prediction_down"])
    held = score_with_intervals(
        rows["label"].to_numpy(dtype=object), scores, at.pert, at.gene, cells
    )
    assert (found["saved"]["de"], found["saved"]["dir"]) == pytest.approx(
        (held.de.value, held.dir.value), abs=1e-12
    )


@pytest.mark.soak
def test_a_run_is_named_once(place: Path) -> None:
    first = core_json(place, "knn --space near --name knn")
    again = core_json(place, "knn --space near --name knn")
    assert {**first, "seconds": 0} == {**again, "seconds": 0}
    refused = core(place, "knn --space near --name knn --power 3")
    assert (refused.status, refused.out) == (1, "")
    assert "run 'knn' exists with another specification" in refused.err
    core_json(place, "knn --space near --name knn --power 3 --replace")
    named = [run for run in core_json(place, "runs")["runs"] if run["name"] == "knn"]
    assert [(run["method"], run["status"], run["total"]) for run in named] == [("knn", "done", 70)]


def test_neighbours_print_shares_and_what_is_left_without_some(place: Path) -> None:
    found = core_json(place, "neighbours Q0_H0 --space near")
    assert set(found) > NEIGHBOURS
    rows = found["neighbours"]
    assert all(set(row) >= NEIGHBOUR for row in rows)
    assert sum(row["share"] for row in rows) == pytest.approx(1, abs=1e-9)
    assert sum(row["share"] for row in rows if row["label"] != "none") == pytest.approx(
        found["prior_de"], abs=1e-9
    )
    assert sum(row["share_up"] for row in rows if row["label"] == "up") == pytest.approx(
        found["prior_up"], abs=1e-9
    )
    weights = [row["weight"] for row in rows]
    assert weights == sorted(weights, reverse=True)
    out = [rows[0]["pair_id"], rows[3]["pair_id"]]
    less = core_json(
        place, "neighbours", "Q0_H0", "--space", "near", *(f"--without={key}" for key in out)
    )
    left = [row for row in rows if row["pair_id"] not in out]
    total = sum(row["weight"] for row in left)
    expected = sum(row["weight"] for row in left if row["label"] != "none") / total
    assert less["prior_de"] == pytest.approx(expected, abs=1e-9)
    assert [row["pair_id"] for row in less["neighbours"]] == [row["pair_id"] for row in left]
    nothing = core_json(place, "neighbours Q0_H2 --space near")
    assert (nothing["prior_de"], nothing["prior_up"], nothing["neighbours"]) == (None, None, [])
    told = core(place, "neighbours Q0_H0 --space near").out
    assert all((row["pair_id"] in told) == (i < 20) for i, row in enumerate(rows))


def made(place: Path, *arguments: str) -> dict[str, Any]:
    found = core_json(place, *arguments)
    assert set(found) >= MADE
    return found  # type: ignore[no-any-return]


@pytest.mark.soak
def test_fuse_and_decompose(place: Path, workspace: Workspace) -> None:
    core_json(place, "knn --space near --protocol loo --name knn")
    weights = ["--w-de", "0.3", "--w-dir", "0.6"]
    fused = made(place, "fuse", "--base", "llm train", "--with", "knn", *weights, "--name", "fused")
    assert (fused["run"], fused["rows"]) == ("fused", 70)
    assert 0 < fused["uncovered"] < 70
    back = made(
        place, "fuse", "--from", fused["id"], "--base", "llm train", *weights, "--name", "back"
    )
    assert (back["rows"], back["uncovered"]) == (70, fused["uncovered"])
    again = made(
        place, "fuse", "--base", "llm train", "--with", "back", *weights, "--name", "again"
    )
    assert again["uncovered"] == fused["uncovered"]
    with workspace.store.read() as db:
        one, other = (predictions.frame(db, runs.find(db, name).id) for name in ("fused", "again"))
    assert other["prediction_up"].tolist() == pytest.approx(one["prediction_up"].tolist(), abs=1e-9)
    three = ["--with", "knn,back", "--w-de", "0.2,0.1", "--w-dir", "0.1,0.2", "--name", "three"]
    assert made(place, "fuse", "--base", "llm train", *three)["rows"] == 70
    scaled = made(
        place,
        "fuse",
        "--base",
        "llm train",
        "--with",
        "knn",
        *weights,
        "--by-support",
        "more",
        "--name",
        "scaled",
    )
    with workspace.store.read() as db:
        found = runs.find(db, scaled["id"])
        assert found.spec["options"]["by_support"] == "more"
        assert predictions.frame(db, found.id)["p_de"].tolist() != one["p_de"].tolist()
    wrong = core(
        place,
        "fuse --from fused --base 'llm train' --w-de 0.4 --w-dir 0.6 --name x",
    )
    assert (wrong.status, "from the grid" in wrong.err) == (1, True)
    with workspace.store.write() as db:
        db.execute(
            "UPDATE prediction SET p_de = 0.5, prediction_up = 0.25, prediction_down = 0.25 WHERE run = ?",
            [runs.find(db, "llm train").id],
        )
    said = "llm train has one P(DE) in all 70 rows: there its weight changes no order."
    assert said in core_json(place, "score", "fused")["constant"]


@pytest.mark.soak
def test_a_reference_on_labelled_rows(place: Path) -> None:
    core_json(place, "knn --space near --protocol test --name knn")
    command = [
        "fuse",
        "--base",
        "llm test",
        "--with",
        "knn",
        "--w-de",
        "0.5",
        "--w-dir",
        "0.5",
        "--reference",
        "train",
    ]
    refused = core(place, *command, "--name", "fused")
    assert (refused.status, "component llm test: has no reference run" in refused.err) == (1, True)
    found = made(place, *command, "--name", "fused", "--reference-run", "llm test=llm train")
    assert (found["rows"], found["uncovered"]) == (6, 1)


FUSE = "fuse --base 'llm train' --with 'llm train' --name x --w-dir 0.5 --w-de"
TRAIN = f"{FUSE} 0.5 --reference train --reference-run"


@pytest.mark.few(30)
@pytest.mark.parametrize(
    ("command", "status", "words"),
    [
        ("embed text --name s", 1, "a pack of descriptions: not in this workspace"),
        ("embed coresponse --name a,b", 1, "without commas"),
        ("embed load absent.npz --name s", 1, "no such file"),
        (
            "embed load pyproject.toml --name s",
            1,
            "cannot be read as symbols and numbers",
        ),
        ("embed delete far", 1, "space 'far': not in this workspace, which has near"),
        ("knn --space ,", 1, "--space: got none"),
        (
            "knn --space near --support-aware 2",
            1,
            "--support-aware: got '2', expected a number, 0 to 1",
        ),
        ("knn --space near --dataset other", 1, "dataset 'other'"),
        ("neighbours P0_nobody --space near", 1, "row 'P0_nobody': not in this dataset"),
        ("neighbours Q0_H0 --space near --without x", 1, "row 'x'"),
        ("neighbours P0_G0 --space near --protocol test", 1, "with its own label"),
        (f"{TRAIN} 'llm train'", 1, "--reference-run: got 'llm train', expected B=RUN"),
        (f"{TRAIN} 'llm test=llm train'", 1, "reference run of llm test: it is not fused here"),
        (f"{TRAIN} 'llm train=nobody'", 1, "run 'nobody'"),
        (
            f"{FUSE} 0.5 --reference-run 'llm train=llm train'",
            1,
            "under population; expected train",
        ),
        (
            "fuse --from b --base a --w-de 1 --w-dir 1 --name x",
            1,
            "run 'a'",
        ),
        ("embed text", 2, "--name"),
        ("embed fold --name s", 2, "fold"),
        ("neighbours --space near", 2, "PAIR"),
        (
            "fuse --base 'llm train' --with 'llm train' --w-de 0.5 --w-dir 0.5",
            2,
            "--name",
        ),
        ("fuse --base a --w-de 1 --w-dir 1 --name x", 2, "--with"),
    ],
)
def test_wrong_input_and_wrong_usage(
    furnished: Path, command: str, status: int, words: str
) -> None:
    done = core(furnished, command)
    assert (done.status, done.out) == (status, "")
    assert words in done.err
    assert "Traceback" not in done.err
    if status == 1:
        assert len(done.err.strip().splitlines()) == 1

"""PerturbQA's cell lines from the published files: what they hold, and their scores beside a loop over scikit-learn."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from core.base.config import Settings
from core.base.types import FileRows
from core.features.importing.actions import import_upload
from core.features.importing.dataset_choice import combine_files
from core.features.importing.pairs import PairTable
from core.features.importing.reader import read
from core.runs.workspace import open_workspace
from core.store import datasets, pairs
from tests import cases
from tests.commands import core_json
from tests.worlds import workspace_in

pytestmark = pytest.mark.real

COLUMNS = ["pert", "gene", "label", "split"]
# rows, perturbations of each split (numbers of the specification), rows with a direction, those that go up
LINES = {
    "k562": (157_679, {"train": 1_564, "test": 267}, 19_980, 13_571),
    "hepg2": (126_889, None, 17_860, 7_848),
    "k562_set": (25_841, None, 14_071, 4_948),
}


def file_of(shared_data: Path, line: str, task: str) -> bytes:
    return (shared_data / "perturbqa" / f"{line}-{task}.csv").read_bytes()


@pytest.mark.soak
@pytest.mark.parametrize(
    "line",
    ["k562", *(pytest.param(line, marks=pytest.mark.soak) for line in LINES if line != "k562")],
)
def test_a_line_holds_what_its_two_files_say(shared_data: Path, line: str) -> None:
    n_rows, perts, directed, up = LINES[line]
    files = []
    for task in ("dir", "de"):
        table = read(file_of(shared_data, line, task), f"{line}-{task}.csv")
        assert isinstance(table, PairTable)
        assert (table.kind, table.cell_line, table.rejected) == ("perturbqa", line, ())
        files.append(FileRows(task, f"{line}-{task}.csv", table.pairs, table.lines))
    found = combine_files(files)
    assert found.rejected == {"de": [], "dir": []}
    assert set(found.sources) == {"de"}  # every row of directions is one of effects
    rows = pd.DataFrame(
        [(pair.pert, pair.gene, str(pair.label), pair.split) for pair in found.pairs],
        columns=COLUMNS,
    )
    de, direction = (
        pd.read_csv(io.BytesIO(file_of(shared_data, line, task)), keep_default_na=False)
        for task in ("de", "dir")
    )
    pd.testing.assert_frame_equal(rows[["pert", "gene", "split"]], de[["pert", "gene", "split"]])
    assert Counter(rows["label"]) == {
        "up": up,
        "down": directed - up,
        "none": n_rows - directed,
    }  # none lacks a direction
    known = direction.merge(rows, on=["pert", "gene"], suffixes=("_file", ""))
    assert (known["label"] == known["label_file"].map({1: "up", 0: "down"})).all()
    assert (known["split"] == known["split_file"]).all()
    if perts is not None:
        assert rows.groupby("split")["pert"].nunique().to_dict() == perts
    assert not set(rows["pert"][rows["split"] == "train"]) & set(
        rows["pert"][rows["split"] == "test"]
    )


@pytest.fixture(scope="module")
def place(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with the lines K562 and K562 gene sets."""
    workspace = workspace_in(tmp_path_factory.mktemp("lines"))
    for line, task in (("k562", "dir"), ("k562", "de"), ("k562_set", "de"), ("k562_set", "dir")):
        assert (
            import_upload(workspace, file_of(shared_data, line, task), f"{line}-{task}.csv").name
            == line
        )
    return workspace.settings.workspace


@pytest.fixture(scope="module")
def scored(place: Path) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The test rows of K562 with numbers of a run that knows a little, and what `score` prints of it."""
    with open_workspace(Settings(workspace=place)).store.read() as db:
        rows = pairs.frame(db, datasets.find(db, "k562").id)
    rows = rows[rows["split"] == "test"].reset_index(drop=True)
    rng = np.random.default_rng(11)
    rows["p_de"] = np.round(
        0.2 + 0.2 * (rows["label"] != "none") + 0.5 * rng.random(len(rows)), 2
    )  # with many ties
    rows["p_up"] = np.round(0.1 + 0.1 * (rows["label"] == "up") + 0.7 * rng.random(len(rows)), 2)
    numbers = zip(
        rows["pair_id"], rows["p_de"] * rows["p_up"], rows["p_de"] * (1 - rows["p_up"]), strict=True
    )
    submission = cases.submission([(key, up, down, "none") for key, up, down in numbers])
    file = place / "run.csv"
    file.write_bytes(submission)
    core_json(place, "import", str(file), "--dataset", "k562", "--name", "a run")
    return rows, core_json(place, "score", "a run")


def by_gene(rows: pd.DataFrame, positive: pd.Series, name: str) -> list[float]:
    """Scikit-learn's AUROC of every gene with both classes."""
    genes = (
        part
        for _, part in rows.assign(positive=positive).groupby("gene")
        if part["positive"].nunique() == 2
    )
    return [roc_auc_score(part["positive"], part[name]) for part in genes]


@pytest.mark.soak
def test_the_headline_is_a_loop_over_genes(scored: tuple[pd.DataFrame, dict[str, Any]]) -> None:
    rows, found = scored
    rows = rows.assign(
        p_de=(rows["p_de"] * rows["p_up"] + rows["p_de"] * (1 - rows["p_up"])).round(14)
    )
    directed = rows[rows["label"] != "none"]
    de, direction = (
        by_gene(rows, rows["label"] != "none", "p_de"),
        by_gene(directed, directed["label"] == "up", "p_up"),
    )
    headline = found["headline"]
    assert headline["name"] == "macro AUROC by gene, mean of DE and DIR"
    assert headline["de"]["estimate"] == pytest.approx(np.mean(de), abs=1e-12)
    assert headline["dir"]["estimate"] == pytest.approx(
        np.mean(direction), abs=1e-9
    )  # p_up is read back from two numbers
    assert headline["genes"] == [len(de), len(direction)]
    assert headline["estimate"] == pytest.approx(
        (headline["de"]["estimate"] + headline["dir"]["estimate"]) / 2, abs=1e-12
    )
    assert found["de"]["estimate"] == pytest.approx(
        roc_auc_score(rows["label"] != "none", rows["p_de"]), abs=1e-12
    )
    for part in (headline, headline["de"], headline["dir"]):
        assert part["low"] < part["estimate"] < part["high"]
    assert found["scored"] == "all rows"


@pytest.mark.soak
@pytest.mark.parametrize("line", ["k562", "k562_set"])
def test_what_is_constant_in_a_gene_has_exactly_a_half(place: Path, line: str) -> None:
    """Over all pairs the mean of a gene looks like knowledge on K562, where nearly all target genes are in both splits."""
    found = {
        each["name"]: each for each in core_json(place, "baselines", "--dataset", line)["baselines"]
    }
    constant, of_gene = found["constant"], found["gene's training mean"]
    for each in (constant, of_gene):
        assert (each["de"]["macro"], each["dir"]["macro"]) == (0.5, 0.5)
    assert constant["de"]["micro"] == 0.5
    assert (of_gene["de"]["micro"] > 0.9) == (line == "k562")
    assert of_gene["note"] == "base rate per gene, no skill"

"""What rows give away by their order, ids and names."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.features.leakage.row_leaks import check_rows


def rows(genes: int = 100) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    pairs = [(f"P{p}", f"G{g}") for p in range(40) for g in rng.choice(genes, 12, replace=False)]
    frame = pd.DataFrame(pairs, columns=["pert", "gene"])
    frame["label"] = rng.choice(["up", "down", "none"], len(frame))
    return frame.assign(split="train", pair_id=frame["pert"] + "_" + frame["gene"])


def found(frame: pd.DataFrame) -> list[tuple[str, str]]:
    return [(finding.where, finding.what) for finding in check_rows(frame)]


def test_rows_at_random_give_nothing_away() -> None:
    assert found(rows()) == []
    assert found(rows().assign(label=None)) == []
    assert found(rows().sort_values(["pert", "gene"]).reset_index(drop=True)) == []


@pytest.mark.parametrize(
    ("by", "where"), [(["label"], "over all rows"), (["pert", "label"], "within perturbations")]
)
def test_rows_sorted_by_label(by: list[str], where: str) -> None:
    findings = found(rows().sort_values(by).reset_index(drop=True))
    assert findings
    assert all(
        place == "train" and what.startswith("the order of rows in the file reveals labels: ")
        for place, what in findings
    )
    assert findings[0][1].endswith(where)


@pytest.mark.parametrize("form", ["{pair}_{n:04}", "{letter}-{pair}"])
def test_ids_that_hold_labels(form: str) -> None:
    frame = rows()
    letters = frame["label"].map({"none": "a", "up": "b", "down": "c"})
    number = np.random.default_rng(1).integers(0, 1000, len(frame)) + 1000 * (
        frame["label"] != "none"
    )
    frame["pair_id"] = [
        form.format(pair=pair, n=n, letter=letter)
        for pair, n, letter in zip(frame["pair_id"], number, letters, strict=True)
    ]
    assert any("in ids reveals labels: DE 1.000" in what for _, what in found(frame))


@pytest.mark.parametrize("axis", ["pert", "gene"])
def test_a_name_for_a_copy(axis: str) -> None:
    frame = rows()
    name = frame[axis].value_counts().index[0]
    copy = frame[frame[axis] == name].assign(**{axis: "Zzz"})
    [(where, what)] = found(
        pd.concat(
            [frame, copy.assign(pair_id=copy["pert"] + "_" + copy["gene"])], ignore_index=True
        )
    )
    assert where == {"pert": "perturbations", "gene": "target genes"}[axis]
    assert what == f"renamed duplicates: two names have the same rows and labels: {name} = Zzz"


def test_genes_that_never_respond_are_no_copies_where_every_pair_was_measured() -> None:
    pairs = [(f"P{p}", f"G{g}") for p in range(20) for g in range(30)]
    frame = pd.DataFrame(pairs, columns=["pert", "gene"]).assign(split="train")
    frame["label"] = np.where(
        frame["gene"].isin(["G0", "G1"]), np.where(frame["pert"] < "P15", "up", "none"), "none"
    )
    frame["pair_id"] = frame["pert"] + "_" + frame["gene"]
    assert found(frame) == [
        ("target genes", "renamed duplicates: two names have the same rows and labels: G0 = G1")
    ]


def test_members_of_a_complex_are_no_renamed_duplicates() -> None:
    """80 complexes of three perturbations, whose labels of 20 pathways are alike but for one in thirty; a copy of one is."""
    rng = np.random.default_rng(0)
    shared = rng.integers(0, 3, (80, 20))
    codes = np.where(
        rng.random((240, 20)) < 1 / 30, rng.integers(0, 3, (240, 20)), np.repeat(shared, 3, axis=0)
    )
    rows = pd.DataFrame(
        {
            "pert": np.repeat([f"P{i:03}" for i in range(240)], 20),
            "gene": np.tile([f"pathway {i:02}" for i in range(20)], 240),
            "label": np.array(["up", "down", "none"], dtype=object)[codes.ravel()],
            "split": "train",
        }
    )
    rows["pair_id"] = rows["pert"] + "_" + rows["gene"]
    assert sum((codes[a] == codes[b]).all() for a in range(240) for b in range(a)) > 50
    assert _renamed(rows) == []
    copy = rows[rows["gene"] == "pathway 07"].assign(gene="Zzz9")
    both = pd.concat([rows, copy.assign(pair_id=copy["pert"] + "_Zzz9")], ignore_index=True)
    assert _renamed(both) == [
        "renamed duplicates: two names have the same rows and labels: Zzz9 = pathway 07"
    ]


def _renamed(rows: pd.DataFrame) -> list[str]:
    return [found.what for found in check_rows(rows) if "renamed" in found.what]

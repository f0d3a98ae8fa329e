"""Splits of conditions: published files, drawn ones, and what is wrong with others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InputError
from core.base.records import from_json, to_json
from core.features.targets.expression import targets_in
from core.features.targets.splits import Split, draw_split, read_split

SINGLES = [f"G{i:02d}" for i in range(24)]
DOUBLES = [f"G{i:02d}+G{i + 1:02d}" for i in range(0, 23)]
CONDITIONS = [*SINGLES, *DOUBLES, "ctrl"]
PUBLISHED = {
    "train_conditions": ["A", "B+ctrl", "B+A", "ctrl"],
    "val_conditions": ["C"],
    "test_conditions": ["D", "D+A"],
    "unseen_genes": ["D"],
    "seed": 42,
}


def written(folder: Path, values: object) -> Path:
    path = folder / "split.json"
    path.write_text(values if isinstance(values, str) else json.dumps(values), "utf-8")
    return path


def test_a_published_file_is_read(tmp_path: Path) -> None:
    found = read_split(written(tmp_path, PUBLISHED))
    assert found == Split(("A", "A+B", "B"), ("C",), ("A+D", "D"), "file", ("D",), 42, "split.json")
    assert found.trained_genes == {"A", "B"}
    assert from_json(Split, json.loads(json.dumps(to_json(found))), "split") == found


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"test_conditions": []}, "no test conditions"),
        ({"test_conditions": None}, "test_conditions is None, expected a list of texts"),
        ({"train_conditions": ["A", 3]}, "train_conditions has 3, expected a text"),
        ({"test_conditions": ["A+B", "D"]}, "A\\+B occurs more than once"),
        ({"val_conditions": ["C", "C+ctrl"]}, "C occurs more than once"),
        ({"unseen_genes": ["C"]}, "unseen genes C are perturbed in training or validation"),
        ({"unseen_genes": "D"}, "unseen_genes"),
        ({"test_conditions": ["D", "A+A"]}, "names a gene twice"),
    ],
)
def test_a_wrong_file_says_what_is_wrong(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        read_split(written(tmp_path, {**PUBLISHED, **changes}))


@pytest.mark.parametrize("content", ["{", "[]", "3"])
def test_another_file_is_no_split(tmp_path: Path, content: str) -> None:
    with pytest.raises(InputError, match=r"split\.json"):
        read_split(written(tmp_path, content))


@given(st.integers(0, 10_000))
def test_a_hard_split_never_trains_its_unseen_genes(seed: int) -> None:
    found = draw_split(CONDITIONS, "hard", seed)
    assert sorted([*found.train, *found.validation, *found.test]) == sorted(
        set(CONDITIONS) - {"ctrl"}
    )
    assert len(found.unseen_genes) == 4  # a sixth of 24 genes, fewer than 16
    before = {
        gene for condition in (*found.train, *found.validation) for gene in targets_in(condition)
    }
    assert before.isdisjoint(found.unseen_genes)
    with_unseen = {
        name for name in CONDITIONS if not set(found.unseen_genes).isdisjoint(targets_in(name))
    }
    assert with_unseen <= set(found.test)
    assert draw_split(list(reversed(CONDITIONS)), "hard", seed) == found


@given(st.integers(0, 10_000))
def test_a_compositional_split_tests_doubles_of_trained_genes(seed: int) -> None:
    found = draw_split(CONDITIONS, "compositional", seed)
    assert len(found.test) == 9  # a fifth of 47
    before = {
        gene for condition in (*found.train, *found.validation) for gene in targets_in(condition)
    }
    assert all(
        len(targets_in(name)) == 2 and before.issuperset(targets_in(name)) for name in found.test
    )
    assert found.unseen_genes == ()


def test_what_cannot_be_split_is_refused() -> None:
    with pytest.raises(InputError, match="none of the 24 conditions is a double"):
        draw_split(SINGLES, "compositional", 0)
    with pytest.raises(InputError, match="5 perturbed genes, expected at least 6"):
        draw_split(SINGLES[:5], "hard", 0)


def test_the_published_splits(shared_data: Path) -> None:
    folder = shared_data / "norman"
    if not folder.is_dir():
        pytest.skip(f"needs the published splits in {folder}")
    hard, composed = (
        read_split(folder / f"split_{name}_seed42.json") for name in ("hard", "compositional")
    )
    assert [len(part) for part in (hard.train, hard.validation, hard.test, hard.unseen_genes)] == [
        135,
        15,
        38,
        16,
    ]
    assert [len(part) for part in (composed.train, composed.validation, composed.test)] == [
        181,
        26,
        29,
    ]
    # 16 unseen singles, 14 half-seen, 7 seen and 1 unseen doubles
    counts = sorted(
        (len(targets_in(name)), len(hard.trained_genes.intersection(targets_in(name))))
        for name in hard.test
    )
    assert [counts.count(each) for each in ((1, 0), (2, 1), (2, 2), (2, 0))] == [16, 14, 7, 1]

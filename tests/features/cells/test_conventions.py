"""Every convention gives the same dataset, row by row, or is refused with advice that gives it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from core.base.config import REPOSITORY
from core.base.errors import InputError
from core.features.cells.comparisons import DesignSettings
from core.features.cells.groups import GroupSettings
from core.features.cells.labels import SamplingSettings
from core.features.cells.screen import LabelSettings, label_screen
from tests.features.cells.conventions import CONVENTIONS, Convention, table, write

# Not all of them have guides, which labels rest on otherwise as well.
SETTINGS = {
    "design": DesignSettings(cells_alone=True),
    "groups": GroupSettings(min_cells=10),
    "sampling": SamplingSettings(all_pairs=True, least_effects=1),
}


def labelled(path: Path, **settings: object) -> pd.DataFrame:
    return label_screen(path, LabelSettings(**SETTINGS, **settings), lambda _: None).pairs  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    found = labelled(write(CONVENTIONS[0], tmp_path_factory.mktemp("plain") / "plain.h5ad"))
    assert set(found["label"]) == {"up", "down", "none"}
    assert found["pert"].nunique() > 3
    return found


@pytest.mark.few(1)
@pytest.mark.parametrize("convention", CONVENTIONS, ids=lambda one: f"{one.group}: {one.name}")
def test_the_dataset_is_the_same(
    tmp_path: Path, convention: Convention, expected: pd.DataFrame
) -> None:
    path = write(convention, tmp_path / "screen.h5ad")
    if convention.refused:
        with pytest.raises(InputError) as caught:
            labelled(path)
        assert convention.refused in str(caught.value)
    pd.testing.assert_frame_equal(labelled(path, **convention.settings), expected)


def test_the_table_stands_in_the_documents() -> None:
    assert len(CONVENTIONS) >= 40
    assert table() in (REPOSITORY / "docs" / "cells.md").read_text()

"""The folder of a screen: whole only with its record, which is written last."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.base.errors import StoreDamaged
from core.features.cells.label_record import ScreenFolder
from core.features.cells.screen import LabelSettings, label_screen
from tests.features.cells.cases import write_case


@pytest.mark.soak
def test_a_folder_is_whole_with_its_record(tmp_path: Path) -> None:
    write_case(tmp_path / "screen.h5ad")
    labels = label_screen(tmp_path / "screen.h5ad", LabelSettings(), lambda _: None)
    folder = ScreenFolder(tmp_path / "made")
    assert not folder.is_whole
    folder.write(labels, {"rows": 3})
    assert folder.is_whole
    assert folder.record() == {"rows": 3}
    effects = folder.table("effects", labels.groups.targets[2])
    assert effects["gene"].astype(object).tolist() == list(labels.genes)
    assert folder.table("guides").equals(labels.knockdown)
    genes = folder.genes()
    assert genes is not None
    assert genes["gene"].tolist() == list(labels.genes)
    assert ((genes["detected"] > 0) == (genes["mean"] > 0)).all()
    (folder.path / "guides.parquet").unlink()
    assert not folder.is_whole


def test_damage_is_named(tmp_path: Path) -> None:
    folder = ScreenFolder(tmp_path)
    with pytest.raises(StoreDamaged, match=r"record\.json: cannot be read"):
        folder.record()
    (tmp_path / "record.json").write_text("[1]")
    with pytest.raises(StoreDamaged, match="list, expected an object"):
        folder.record()
    (tmp_path / "effects.parquet").write_bytes(b"nothing")
    with pytest.raises(StoreDamaged, match=r"effects\.parquet: cannot be read"):
        folder.table("effects")

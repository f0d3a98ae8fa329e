"""Every published number at full strength: means over twenty cuts, and the sentence encoder where it is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.base.config import Settings
from core.cli.base import result_lines
from core.features.importing.actions import import_paths
from core.features.published.reproduce import reproduce_numbers
from core.runs.workspace import open_workspace
from soak.conftest import Record
from tests.conftest import SHARED_DATA
from tests.real.test_reproduce import DIFFER

CUTS = 20


@pytest.mark.skipif(not SHARED_DATA.is_dir(), reason=f"needs the published files in {SHARED_DATA}")
def test_published_numbers_over_twenty_cuts(
    tmp_path: Path, record: Record, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace = open_workspace(Settings(workspace=tmp_path, author="tester"))
    import_paths(
        workspace, [SHARED_DATA / name for name in ("challenge", "perturbagent", "knowledge")]
    )
    result = reproduce_numbers(workspace, cuts=CUTS)
    found = result.numbers
    with capsys.disabled():
        print("", *result_lines(result), sep="\n")
    record(
        numbers=len(found),
        agree=sum(each.agrees is True for each in found),
        differ=sum(each.agrees is False for each in found),
    )
    assert {each.name for each in found if each.agrees is False} <= DIFFER

"""The long tests are run before a release only: what they import has to be there all the time."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

PARTS = sorted((Path(__file__).resolve().parent.parent / "soak").glob("test_*.py"))


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.stem)
def test_a_part_can_be_imported_and_holds_tests(part: Path) -> None:
    module = importlib.import_module(f"soak.{part.stem}")
    assert any(name.startswith("test_") for name in vars(module))

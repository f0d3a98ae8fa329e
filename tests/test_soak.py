"""The long tests and the benchmarks are run before a release only: what they import has to be there all the time."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PARTS = sorted((ROOT / "soak").glob("test_*.py"))


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.stem)
def test_a_part_can_be_imported_and_holds_tests(part: Path) -> None:
    module = importlib.import_module(f"soak.{part.stem}")
    assert any(name.startswith("test_") for name in vars(module))


@pytest.mark.parametrize("name", [path.stem for path in sorted((ROOT / "bench").glob("*.py"))])
def test_a_benchmark_can_be_imported(name: str) -> None:
    importlib.import_module(f"bench.{name}")

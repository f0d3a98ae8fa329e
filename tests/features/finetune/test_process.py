"""The interpreter of the process that trains: which it is, and what it lacks."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from core.base.errors import MissingPackage
from core.features.finetune import job_folder


def test_what_is_missing_is_named_with_the_file_that_brings_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_folder, "PACKAGES", ("json", "no_such_package"))
    with pytest.raises(
        MissingPackage,
        match=r"needs no_such_package, which .*; make \.venv-train/ok .* requirements-train\.txt",
    ):
        job_folder.refuse_missing_packages(Path(sys.executable))
    monkeypatch.setattr(job_folder, "PACKAGES", ("json",))
    job_folder.refuse_missing_packages(Path(sys.executable))
    with pytest.raises(MissingPackage, match="cannot be run"):
        job_folder.refuse_missing_packages(tmp_path / "python")


def test_its_own_interpreter_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_folder, "OWN_PYTHON", tmp_path / "python")
    assert job_folder.default_python() == Path(sys.executable)
    (tmp_path / "python").touch()
    assert job_folder.default_python() == tmp_path / "python"

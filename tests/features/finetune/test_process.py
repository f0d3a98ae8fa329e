"""The process that trains: what it lacks, and what it says where it lacks it after all."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from core.base.config import Settings
from core.base.errors import MissingPackage
from core.features.finetune import job_folder
from core.runs.jobs.folder import log_tail
from tests.features.finetune.cases import folder_in


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


@pytest.mark.soak
def test_what_goes_wrong_in_it_is_the_cause_and_its_traceback_the_log(tmp_path: Path) -> None:
    folder = folder_in(tmp_path, base=str(tmp_path / "no model"))
    job_folder.start_training(folder, Settings(workspace=tmp_path), Path(sys.executable))
    deadline = time.monotonic() + 120
    while folder.status().is_live and time.monotonic() < deadline:
        time.sleep(0.05)
    found = folder.status()
    assert found.state == "failed"
    assert found.cause  # no torch, or no model where there is one
    assert "Traceback" in "\n".join(log_tail(folder, 100))

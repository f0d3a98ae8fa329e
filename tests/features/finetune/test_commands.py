"""The command finetune, as far as it goes without torch; the rest is in tests/serve."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.features.finetune import actions as finetunes
from core.features.finetune import job_folder
from core.features.finetune.job_folder import FinetuneFolder, FinetuneRequest
from core.runs.workspace import Workspace
from tests.commands import core, core_json
from tests.features.finetune.cases import REQUEST, finish

OPTIONS = ("--base", REQUEST.base, "--set", "parts=2")


@pytest.mark.soak
def test_what_cannot_be_is_refused_in_one_line(here: Workspace) -> None:
    for words, said in (
        (("--resume",), "not in this workspace"),
        (("--base", "/nowhere/model"), "no such folder"),
        (("--set", "rank=none"), "expected a whole number"),
    ):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(job_folder, "PACKAGES", ("json",))
            done = core(here, "finetune", *words)
        assert (done.status, len(done.err.splitlines())) == (1, 1), done.err
        assert said in done.err


def test_settings_are_checked_before_packages_are_missed(
    here: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_folder, "PACKAGES", ("no_such_package",))
    done = core(here, "finetune", *OPTIONS, "--set", "nosuch=1")
    assert (done.status, len(done.err.splitlines())) == (1, 1)
    assert "'nosuch': not known, expected rank, alpha" in done.err


@pytest.mark.soak
@pytest.mark.usefixtures("installed")
def test_a_failure_is_told_with_its_cause_and_the_way_on(here: Workspace) -> None:
    done = core(here, "finetune", *OPTIONS)
    assert (done.status, done.out) == (1, "")
    assert "failed: " in done.err
    assert "--resume continues it" in done.err


@pytest.mark.usefixtures("installed")
def test_what_is_done_is_printed_again(here: Workspace, tmp_path: Path) -> None:
    out = tmp_path / "model"
    request = FinetuneRequest(None, REQUEST.base, REQUEST.options, out)
    made = finetunes.plan(here, request)
    folder = FinetuneFolder(here.settings.data / "finetune" / made.spec.key)
    folder.create(made.spec, made.train, made.validation)
    finish(folder, out)
    expected = {"path": str(out), "steps": 9, "loss": 0.5, "manifest": str(out / "manifest.json")}
    assert core_json(here, "finetune", *OPTIONS, "--out", str(out)) == expected
    assert core_json(here, "finetune", "--resume") == expected
    other = core(here, "finetune", *OPTIONS, "--out", str(tmp_path / "other"))
    assert other.status == 0
    assert other.out.startswith(f"{out}: ")  # where it is, not where it was asked for

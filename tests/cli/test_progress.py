"""A command that takes long says how far it is, in plain output too; one that fails at once says one line."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from core.cli import base
from core.cli import base as progress
from core.runs.workspace import Workspace
from tests import cases, commands
from tests.runs.jobs.worker import until


def test_plain_output_gets_a_line_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "FIRST_S", 0.02)
    monkeypatch.setattr(progress, "EVERY_S", 0.02)
    said = []

    def is_said(line):
        said.extend(capsys.readouterr().err.splitlines())
        return any(each.startswith(line) for each in said)

    with progress.working("reading a.csv") as step:
        until(lambda: is_said("reading a.csv … "))
        step("writing a.csv")
        until(lambda: is_said("writing a.csv … "))
    capsys.readouterr()
    time.sleep(0.05)
    assert capsys.readouterr().err == ""  # it is over


def test_what_is_over_at_once_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="bad"), progress.working("reading a.csv") as step:
        step("writing a.csv")
        raise ValueError("bad")
    assert capsys.readouterr().err == ""


def test_whoever_watches_sees_every_step(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base.Output, "progress", True)
    with progress.working("reading a.csv") as step:
        step("writing a.csv")
    assert capsys.readouterr().err == "writing a.csv\n"


@pytest.mark.soak
@pytest.mark.parametrize(
    "command",
    [
        "import FILE",
        "embed coresponse --name s --columns 1",
        "knn --space s --permutations 0",
        "fuse --base debate --with again --w-de 0.5 --w-dir 0.5 --name f",
    ],
)
def test_the_long_commands_do(
    small_workspace: Workspace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
) -> None:
    """The same block is around each of them."""
    folder, file, begun = small_workspace.settings.workspace, tmp_path / "again.csv", list[str]()
    file.write_bytes(cases.submission([("Pa_Ga", 0.2, 0.3, "x")]))
    assert commands.core(folder, "import", str(file)).status == 0
    real = progress.working
    rooms = (
        "importing.commands",
        "neighbours.commands",
        "fuse.commands",
    )
    for room in rooms:
        monkeypatch.setattr(
            f"core.features.{room}.working", lambda what: (begun.append(what), real(what))[1]
        )
    done = commands.core(folder, command.replace("FILE", str(file)))
    assert len(begun) == 1, done

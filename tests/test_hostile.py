"""Every attack of tests/attacks.py in this process; some in processes of their own. soak/test_hostile.py takes all of them so."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from core.actions.imports import import_upload
from core.actions.workspace import open_workspace
from core.config import Settings
from tests import cases, commands
from tests.attacks import ATTACKS, Attack

LONGEST_S = 60  # no limit on speed: it ends what waits for ever


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small workspace, which no attack may change."""
    place = tmp_path_factory.mktemp("hostile") / "workspace"
    workspace = open_workspace(Settings(workspace=place, author="tester"))
    for content, name in ((cases.TRAIN, "train.csv"), (cases.TEST, "test.csv"), (cases.DEBATES, "debate.csv")):
        assert import_upload(workspace, content, name).kind != "failed"
    return place


@pytest.fixture(autouse=True)
def ends() -> Iterator[None]:
    """Ends a test that waits for ever."""

    def give_up(*_: object) -> None:
        raise AssertionError(f"not done after {LONGEST_S} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(LONGEST_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def contents(workspace: Path) -> dict[str, str]:
    """The hash of every file but the log."""
    return {
        str(file.relative_to(workspace)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(workspace.rglob("*"))
        if file.is_file() and not file.name.startswith("desk.log")
    }


def place_of(attack: Attack, desk: Path, folder: Path) -> Path:
    """The workspace, or a spoilt copy of it."""
    if attack.spoils is None:
        return desk
    copy = folder / "workspace"
    shutil.copytree(desk, copy)
    attack.spoils(copy)
    return copy


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_it_is_one_line_and_changes_nothing(attack: Attack, desk: Path, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    arguments = [argument.replace("WORKSPACE", str(desk)) for argument in attack.make(folder)]
    place = place_of(attack, desk, tmp_path)
    before = contents(place)
    with mock.patch.dict(os.environ, attack.environment):
        done = commands.core(place, *arguments)
    assert done.status == 1, (done.out, done.err)
    line, *rejected_rows = done.err.splitlines()
    assert len(rejected_rows) == attack.rejects
    assert line.isprintable()
    assert "Traceback" not in line
    assert "nobody foresaw" not in line
    assert attack.words in line
    assert len(line) < 2000
    assert contents(place) == before


def test_there_are_eighty_of_them() -> None:
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS) >= 80

"""A page imports by path from the allowed folders alone, and shows nothing of what is no table."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from core.base import log
from core.base.config import Settings, default_import_roots, import_folders
from core.base.errors import InputError, StateError
from core.features.importing.allowed_paths import import_path
from core.features.importing.import_target import DEFAULT_OPTIONS, Imported
from core.runs.workspace import Workspace, open_workspace
from tests import cases, worlds

HERE = "127.0.0.1"
SECRET = "open-sesame"


@pytest.fixture
def allowed(tmp_path: Path) -> Path:
    folder = tmp_path / "allowed"
    folder.mkdir()
    return folder


@pytest.fixture
def confined(tmp_path: Path, allowed: Path) -> Workspace:
    return open_workspace(
        Settings(workspace=tmp_path / "workspace", author="tester", import_roots=(allowed,))
    )


def import_here(workspace: Workspace, path: object) -> list[Imported]:
    return import_path(workspace, str(path), DEFAULT_OPTIONS, HERE)


def test_the_default_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(workspace=tmp_path / "workspace")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert default_import_roots(settings) == (tmp_path / "workspace", tmp_path, tmp_path / "home")
    monkeypatch.chdir("/")
    monkeypatch.setenv("HOME", "/")
    assert default_import_roots(settings) == (tmp_path / "workspace",)
    assert import_folders(settings, HERE) == (tmp_path / "workspace",)
    chosen = replace(settings, import_roots=(tmp_path / "a", Path("/")))
    assert import_folders(chosen, HERE) == (tmp_path / "a", Path("/"))


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("address", "on"),
    [
        *(
            ("127.0.0.1", True),
            ("localhost", True),
            ("::1", True),
            ("0.0.0.0", False),
            ("::", False),
        ),
        *(("10.1.2.3", False), ("desk.example.org", False), ("", False), (None, False)),
    ],
)
def test_it_is_off_when_the_app_listens_beyond_this_machine(
    confined: Workspace, allowed: Path, address: str | None, on: bool
) -> None:
    (allowed / "train.csv").write_bytes(cases.TRAIN)
    assert bool(import_folders(confined.settings, address)) is on
    if on:
        assert (
            import_path(confined, str(allowed), DEFAULT_OPTIONS, address)[0].kind
            == "challenge_train"
        )
    else:
        with pytest.raises(StateError, match="off, since other machines can reach this app"):
            import_path(confined, str(allowed), DEFAULT_OPTIONS, address)


@pytest.mark.soak
def test_files_and_folders_inside(confined: Workspace, allowed: Path) -> None:
    (allowed / "train.csv").write_bytes(cases.TRAIN)
    (allowed / "deep").mkdir()
    (allowed / "deep" / "test.csv").write_bytes(cases.TEST)
    assert [outcome.kind for outcome in import_here(confined, allowed / "train.csv")] == [
        "challenge_train"
    ]
    assert [outcome.kind for outcome in import_here(confined, f" {allowed}/deep/../deep ")] == [
        "challenge_test"
    ]
    with pytest.raises(InputError, match="no such file or folder"):
        import_here(confined, allowed / "gone.csv")


def test_what_is_outside_is_not_looked_at(
    confined: Workspace, allowed: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "allowed-not"
    outside.mkdir()
    (outside / "train.csv").write_bytes(cases.TRAIN)
    (allowed / "link.csv").symlink_to(outside / "train.csv")
    (allowed / "folder").symlink_to(outside)
    (allowed / "loop").symlink_to("loop")
    for path in (
        outside / "train.csv",
        outside,
        outside / "gone",
        tmp_path,
        "/",
        "/etc/passwd",
        allowed / ".." / "allowed-not" / "train.csv",
        allowed / "link.csv",
        allowed / "folder" / "train.csv",
        allowed / "folder",
    ):
        with pytest.raises(InputError, match="outside the folders from which pages may import"):
            import_here(confined, path)
    for path in ("~nobody-of-this-name/x", "a\0b", allowed / "loop"):
        with pytest.raises(
            InputError, match=r"not the path of a file or folder|no such file or folder"
        ):
            import_here(confined, path)


def test_links_of_a_folder_that_lead_out_are_listed(
    confined: Workspace, allowed: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside.csv").write_bytes(cases.TEST)
    (allowed / "train.csv").write_bytes(cases.TRAIN)
    (allowed / "out.csv").symlink_to(tmp_path / "outside.csv")
    (allowed / "broken").symlink_to("gone")
    os.mkfifo(allowed / "pipe")
    found = {Path(outcome.path).name: outcome for outcome in import_here(confined, allowed)}
    assert {name: outcome.kind for name, outcome in found.items()} == {
        "train.csv": "challenge_train",
        "out.csv": "unknown",
        "broken": "unknown",
        "pipe": "unknown",
    }
    assert found["out.csv"].message.endswith(
        "a link out of the folders from which pages may import"
    )
    assert "a named pipe" in found["pipe"].message


HOLDING = {
    "passwd": f"root:x:0:0:{SECRET}:/root:/bin/sh\n".encode(),
    "table": f"user,{SECRET}\na,b\n".encode(),
    "equal columns": f"{SECRET},{SECRET}\n".encode(),
    "words": f"{SECRET} 1 2\n{SECRET} x y\n".encode(),
    "json": f'{{"token": "{SECRET}"}}'.encode(),
    "json of genes": f'{{"a": "B", "c": "D", "token": "{SECRET} {SECRET}"}}'.encode(),
    "json twice": f'{{"{SECRET}": 1, "{SECRET}": 2}}'.encode(),
    "json list": f'[["{SECRET}", 1]]'.encode(),
    "half json": f'{{"{SECRET}'.encode(),
    "zip": cases.as_zip(**{f"../{SECRET}": b""}),
    "zip of others": cases.as_zip(**{SECRET: b"", f"{SECRET}2": b""}),
    "pickle": f"c{SECRET}\nsystem\n.".encode(),
    "space": f"symbol,x\n{SECRET},one\n".encode(),
}


@pytest.mark.few(8)
@pytest.mark.parametrize("what", HOLDING)
@pytest.mark.parametrize("name", ["x", "x.csv", "x.pkl", "x.json"])
def test_what_is_no_table_is_not_shown(
    confined: Workspace, allowed: Path, what: str, name: str
) -> None:
    (allowed / name).write_bytes(HOLDING[what])
    log.configure(confined.settings, "app")
    try:
        [outcome] = import_here(confined, allowed / name)
    finally:
        log.close()
    assert outcome.kind == "failed"
    assert "details are not shown here, but by `perturbdesk import` or an upload" in outcome.message
    assert SECRET not in repr(outcome)
    assert SECRET not in log.log_file(confined.settings).read_text("utf-8")


@pytest.mark.soak
def test_what_is_a_table_is(confined: Workspace, allowed: Path) -> None:
    (allowed / "train.csv").write_bytes(cases.TRAIN + b"Pa_Gc,Pa,Gc,sideways\n")
    [outcome] = import_here(confined, allowed)
    assert (outcome.rows, len(outcome.rejected)) == (4, 1)
    assert "sideways" in outcome.rejected[0].detail
    (allowed / "orthologs.json").write_bytes(worlds.pack("orthologs"))
    assert import_here(confined, allowed / "orthologs.json")[0].kind == "orthologs"

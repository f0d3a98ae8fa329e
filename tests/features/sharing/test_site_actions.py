"""A run as a site: its files, where they may be written, and what never stands in them."""

from __future__ import annotations

import dataclasses
import io
import zipfile
from pathlib import Path

import pytest

from core.base.errors import NotFound, StateError
from core.features.sharing.site.actions import build_site, write_site, zip_site
from core.runs.workspace import Workspace, open_workspace
from tests.commands import core, core_json
from tests.features.sharing.test_site_files import data_of

SECRET = "sk-abcdefgh12345678"


def files_of(workspace: Workspace, run: str, folder: Path) -> dict[str, bytes]:
    """The files of a run's site by their paths."""
    folder.mkdir()
    made = build_site(workspace, run, folder)
    return {path: (folder / path).read_bytes() for path in made.paths}


def test_it_says_what_the_app_says(small_workspace: Workspace, tmp_path: Path) -> None:
    made = files_of(small_workspace, "debate", tmp_path / "site")
    rows, texts, run = (data_of(made[f"data/{name}.js"]) for name in ("rows", "texts-0000", "run"))
    assert rows["pair_id"] == ["Pa_Ga", "Pa_Gb", "Pb_Ga", "Pc_Gc"]
    assert rows["label"] == ["up", "none", "down", None]
    # Of the four briefs of each of three rows, one answers with an option.
    assert rows["argued"] == [4, 3, 4, None]
    assert rows["outcome"] == ["miss", "hit", "miss", None]
    up = next(one for one in texts[1]["advocates"] if one["role"] == "UP")
    assert up == {"role": "UP", "argued": False, "words": "an answer against its own side"}
    assert texts[0]["arithmetic"][:2] == [
        "judges: P(DE) 0.4000, P(up | DE) 0.7500",
        "up = 0.4000 × 0.7500 = 0.3000, down = 0.4000 × 0.2500 = 0.1000",
    ]
    assert texts[0]["noDossier"] == "This file has no dossier, so the agents' evidence is unknown."
    assert dict(run["facts"])["Model"] == "some/model"
    assert "4 rows, 3 labelled, 2 with an effect" in run["scores"][0]


@pytest.mark.soak
def test_equal_runs_give_equal_bytes(small_workspace: Workspace) -> None:
    (_, first), (_, second) = (
        zip_site(small_workspace, "debate"),
        zip_site(small_workspace, "debate"),
    )
    assert first == second
    names = zipfile.ZipFile(io.BytesIO(first)).namelist()
    assert names[-1] == "debate-site/index.html"


@pytest.mark.soak
def test_the_command_writes_a_folder_once(small_workspace: Workspace, tmp_path: Path) -> None:
    folder, out = small_workspace.settings.workspace, tmp_path / "out"
    shown = core_json(folder, "report", "site", "debate", "--out", str(out))
    written = [path for path in out.rglob("*") if path.is_file()]
    assert shown == {
        "path": str(out),
        "rows": 4,
        "bytes": sum(path.stat().st_size for path in written),
    }
    again = core(folder, "report", "site", "debate", "--out", str(out))
    assert (again.status, "not empty" in again.err) == (1, True)
    (out / "data" / "texts-0007.js").write_text("of a longer run")
    (out / "mine.txt").write_text("kept")
    assert core(folder, "report", "site", "debate", "--out", str(out), "--replace").status == 0
    assert {path.relative_to(out) for path in out.rglob("*") if path.is_file()} - {
        Path("mine.txt")
    } == {path.relative_to(out) for path in written}


def test_it_refuses_a_file_and_a_run_that_is_not_there(
    small_workspace: Workspace, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StateError, match="a file, expected an empty or new folder"):
        write_site(small_workspace, "debate", tmp_path / "file", replace=True)
    with pytest.raises(NotFound):
        write_site(small_workspace, "nothing", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_no_secret_and_no_place_of_this_machine(small_workspace: Workspace, tmp_path: Path) -> None:
    settings = dataclasses.replace(small_workspace.settings, api_key=SECRET)
    place = f"{settings.workspace}/data/secret.csv"
    with small_workspace.change("test", "error") as (db, _):
        db.execute(
            "UPDATE prediction SET error = ?, p_de = NULL, prediction_up = NULL, prediction_down = NULL, p_source = NULL "
            "WHERE pair_id = 'Pc_Gc'",
            [f"ServerError: http://10.0.0.7:8000/v1 said no, see {place}"],
        )
    made = b"".join(files_of(small_workspace, "debate", tmp_path / "site").values())
    assert str(settings.workspace).encode() not in made
    assert b"10.0.0.7" not in made
    assert b"ServerError: a server said no, see secret.csv" in made
    with small_workspace.change("test", "error") as (db, _):
        db.execute("UPDATE prediction SET error = ? WHERE pair_id = 'Pc_Gc'", [f"said {SECRET}"])
    with pytest.raises(StateError, match="contains an API key"):
        zip_site(open_workspace(settings), "debate")

"""Rubrics of one's own beside the built-in ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.base.config import Settings
from core.base.errors import InputError, NotFound, StateError
from core.features.arguments import rubrics
from core.features.arguments.rubric import Rubric
from core.features.importing import backups, undo
from core.features.server import doctor
from core.methods.text_rules.text import rules
from core.runs.workspace import Workspace, open_workspace
from core.store import changes

TOML = """name = "names-a-pathway"
question = "Does the brief name a pathway?"
roles = ["EFFECT"]
pattern = "pathway|signal(l)?ing"
"""
OWN = Rubric(
    "names-a-pathway",
    "Does the brief name a pathway?",
    roles=("EFFECT",),
    pattern="pathway|signal(l)?ing",
)


def test_a_rubric_of_a_file_is_kept_once_and_found(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text(TOML, "utf-8")
    assert rubrics.add_file(workspace, tmp_path / "r.toml") == OWN
    assert rubrics.add_file(workspace, tmp_path / "r.toml") == OWN
    assert rubrics.list_all(workspace) == [*rubrics.built_in(), OWN]
    assert rubrics.find(workspace, OWN.name) == OWN
    assert rubrics.find(workspace, "short").question == rules()["short"].question
    with workspace.store.read() as db:
        [written] = changes.latest(db).to_dict("records")
    assert (written["action"], written["subject"], written["author"]) == (
        "add rubric",
        OWN.name,
        "tester",
    )


def test_names_are_taken_once(workspace: Workspace, tmp_path: Path) -> None:
    assert rubrics.add(workspace, OWN)
    assert not rubrics.add(workspace, OWN)
    with pytest.raises(StateError, match="another of that name"):
        rubrics.add(workspace, Rubric(OWN.name, "Does it?"))
    with pytest.raises(StateError, match="rubric 'short': a built-in one has that name"):
        rubrics.add(workspace, Rubric("short", "Is it?"))
    with pytest.raises(InputError, match="rubric mine: rule is 'short', expected none"):
        rubrics.add(workspace, Rubric("mine", "Is it?", rule="short"))
    with pytest.raises(
        NotFound,
        match=r"rubric 'long': not known, expected one of advocates_arguing, .*names-a-pathway",
    ):
        rubrics.find(workspace, "long")
    (tmp_path / "r.toml").write_text('name = "x"\nquestion = "Is it?"\nrule = "short"\n', "utf-8")
    with pytest.raises(InputError, match=r"r\.toml, line 3: rule is not known"):
        rubrics.add_file(workspace, tmp_path / "r.toml")


@pytest.mark.soak
def test_an_own_rubric_outlives_an_undo_and_a_backup(
    small_workspace: Workspace, tmp_path: Path
) -> None:
    rubrics.add(small_workspace, OWN)
    undo.undo(small_workspace, "debate.csv")
    assert rubrics.find(small_workspace, OWN.name) == OWN
    assert doctor.examine(small_workspace.settings).store == "ok"
    backups.back_up(small_workspace, tmp_path / "b.zip")
    copy = open_workspace(Settings(workspace=tmp_path / "copy", author="tester"))
    backups.restore(copy, tmp_path / "b.zip")
    assert rubrics.list_all(copy) == rubrics.list_all(small_workspace)

"""The command label, in this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.features.arguments import labels, readings
from core.features.arguments.rubric import Rubric
from core.features.arguments.rubric_tables import TextLabel
from core.runs.workspace import Workspace
from tests.commands import core, core_json

PATHWAY = Rubric("names-a-pathway", "Does the text name a pathway?")


@pytest.mark.soak
def test_label_draws_exports_and_imports(small_workspace: Workspace, tmp_path: Path) -> None:
    place = small_workspace.settings.workspace
    readings.add_rubric(small_workspace, PATHWAY)
    found = core_json(
        place, "rubric", "label", PATHWAY.name, "debate", "--sample", "5", "--seed", "3"
    )
    assert (found["rubric"], found["by"], found["seed"], found["n"]) == (
        PATHWAY.name,
        "simple",
        3,
        5,
    )
    assert sum(found["roles"].values()) == 5
    text = core(
        place, "rubric", "label", PATHWAY.name, "debate", "--sample", "5", "--seed", "3"
    ).out
    assert (
        f"5 texts of debate for names-a-pathway, simple, seed 3: sample {found['sample']}" in text
    )
    assert "page Arguments" in text
    sample = labels.draw_sample(small_workspace, PATHWAY, "debate", 5, "simple", 3)
    assert sample.id == found["sample"]
    first = sample.texts[0]
    given = TextLabel(first.pair_id, first.seq, first.role, "yes", "Ada", sample=sample.id)
    labels.give_labels(small_workspace, PATHWAY, "debate", [given])
    file = tmp_path / "labels.csv"
    assert core_json(place, "rubric", "label", PATHWAY.name, "debate", "--export", str(file)) == {
        "file": str(file),
        "labels": 1,
    }
    assert first.pair_id in file.read_text()
    labels.take_back(small_workspace, PATHWAY, "debate", given)
    done = core_json(place, "rubric", "label", PATHWAY.name, "debate", "--import", str(file))
    assert (done["new"], done["changed"], done["known"]) == (1, 0, 0)


def test_label_says_what_is_wrong(small_workspace: Workspace, tmp_path: Path) -> None:
    place = small_workspace.settings.workspace
    readings.add_rubric(small_workspace, PATHWAY)
    file = tmp_path / "labels.csv"
    file.write_text("pair_id,role,answer,author\nPa_Ga,EFFECT,maybe,Ada\n")
    for arguments, message in (
        (
            ("names-a-pathway", "debate"),
            "got nothing to do, expected one of --sample, --export and --import",
        ),
        (
            ("names-a-pathway", "debate", "--sample", "3", "--export", str(file)),
            "got --sample, --export, expected one of",
        ),
        (("names-a-pathway", "debate", "--import", str(file)), "answer 'maybe', expected yes, no"),
    ):
        done = core(place, "rubric", "label", *arguments)
        assert (done.status, done.out) == (1, "")
        assert message in done.err
        assert done.err.count("\n") == 1

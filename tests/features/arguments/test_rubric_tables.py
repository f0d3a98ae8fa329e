"""Rubrics, samples and labels in the store, and the texts that a rubric asks about."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.features.arguments import rubric_tables
from core.features.arguments.rubric import Example, Rubric
from core.features.arguments.rubric_tables import WHOLE_ROW, Sample, SampledText, TextLabel
from core.runs.workspace import Workspace
from core.store import runs

RUBRIC = Rubric(
    "names-a-pathway", "Does the text name a pathway?", examples=(Example("NF-kB.", "yes"),)
)


@pytest.mark.soak
def test_texts_are_those_of_the_unit_and_the_roles(small_workspace: Workspace) -> None:
    with small_workspace.store.read() as db:
        run = runs.find(db, "debate").id
        [(n_briefs,)] = db.execute(
            "SELECT count(*) FROM trace_event WHERE run = ? AND kind = 'brief'", [run]
        ).fetchall()
        [(n_rows,)] = db.execute(
            "SELECT count(DISTINCT pair_id) FROM trace_event WHERE run = ?", [run]
        ).fetchall()
        every = rubric_tables.texts(db, run, RUBRIC)
        effect = rubric_tables.texts(db, run, replace(RUBRIC, roles=("EFFECT",)))
        whole = rubric_tables.texts(db, run, replace(RUBRIC, unit="row"))
    assert len(every) == n_briefs > 0
    assert set(effect["role"]) == {"EFFECT"}
    assert len(whole) == n_rows == whole["pair_id"].nunique()
    assert set(whole["seq"]) == {WHOLE_ROW}
    brief = effect.iloc[0]
    assert brief["content"] in whole.set_index("pair_id").loc[brief["pair_id"], "content"]


@pytest.mark.soak
def test_samples_and_labels_belong_to_a_wording_and_go_with_the_run(
    small_workspace: Workspace,
) -> None:
    with small_workspace.store.write() as db:
        run = runs.find(db, "debate").id
        text = rubric_tables.texts(db, run, RUBRIC).iloc[0]
        drawn = SampledText(text["pair_id"], int(text["seq"]), text["role"], 0.25)
        sample = Sample("s", RUBRIC.name, RUBRIC.sha256, run, "simple", "", 0, "Ada", (drawn,))
        rubric_tables.add_sample(db, sample)
        label = TextLabel(drawn.pair_id, drawn.seq, drawn.role, "yes", "Ada", sample=sample.id)
        rubric_tables.put_labels(
            db, RUBRIC, run, [label, replace(label, author="Ben"), replace(label, answer="no")]
        )
        assert rubric_tables.samples(db, RUBRIC, run) == [sample]
        said = [(each.author, each.answer) for each in rubric_tables.labels(db, RUBRIC, run)]
        assert sorted(said) == [("Ada", "no"), ("Ben", "yes")]
        other = replace(RUBRIC, question="Does it?")
        assert (rubric_tables.samples(db, other, run), rubric_tables.labels(db, other, run)) == (
            [],
            [],
        )
        rubric_tables.delete_label(db, RUBRIC, run, label)
        assert len(rubric_tables.labels(db, RUBRIC, run)) == 1
        runs.delete(db, run)
        assert (rubric_tables.samples(db, RUBRIC, run), rubric_tables.labels(db, RUBRIC, run)) == (
            [],
            [],
        )
        assert db.execute("SELECT count(*) FROM sampled_text").fetchall() == [(0,)]

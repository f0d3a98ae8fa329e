"""Rubrics, samples and labels in the store, and the texts that a rubric asks about."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.actions.workspace import Workspace
from core.audit.rubric import Example, Rubric
from core.errors import StateError
from core.store import rubrics, runs
from core.store.rubrics import WHOLE_ROW, Sample, SampledText, TextLabel

RUBRIC = Rubric("names-a-pathway", "Does the text name a pathway?", examples=(Example("NF-kB.", "yes"),))


def test_a_name_belongs_to_one_rubric(small_workspace: Workspace) -> None:
    with small_workspace.store.write() as db:
        assert rubrics.put(db, RUBRIC, "Ada")
        assert not rubrics.put(db, RUBRIC, "Ben")
        assert rubrics.list_own(db) == [RUBRIC]
        with pytest.raises(StateError, match="another of that name"):
            rubrics.put(db, replace(RUBRIC, question="Does it?"), "Ada")


@pytest.mark.soak
def test_texts_are_those_of_the_unit_and_the_roles(small_workspace: Workspace) -> None:
    with small_workspace.store.read() as db:
        run = runs.find(db, "debate").id
        [(n_briefs,)] = db.execute("SELECT count(*) FROM trace_event WHERE run = ? AND kind = 'brief'", [run]).fetchall()
        [(n_rows,)] = db.execute("SELECT count(DISTINCT pair_id) FROM trace_event WHERE run = ?", [run]).fetchall()
        every = rubrics.texts(db, run, RUBRIC)
        effect = rubrics.texts(db, run, replace(RUBRIC, roles=("EFFECT",)))
        whole = rubrics.texts(db, run, replace(RUBRIC, unit="row"))
    assert len(every) == n_briefs > 0
    assert set(effect["role"]) == {"EFFECT"}
    assert len(whole) == n_rows == whole["pair_id"].nunique()
    assert set(whole["seq"]) == {WHOLE_ROW}
    brief = effect.iloc[0]
    assert brief["content"] in whole.set_index("pair_id").loc[brief["pair_id"], "content"]


@pytest.mark.soak
def test_samples_and_labels_belong_to_a_wording_and_go_with_the_run(small_workspace: Workspace) -> None:
    with small_workspace.store.write() as db:
        run = runs.find(db, "debate").id
        text = rubrics.texts(db, run, RUBRIC).iloc[0]
        drawn = SampledText(text["pair_id"], int(text["seq"]), text["role"], 0.25)
        sample = Sample("s", RUBRIC.name, RUBRIC.sha256, run, "simple", "", 0, "Ada", (drawn,))
        rubrics.add_sample(db, sample)
        label = TextLabel(drawn.pair_id, drawn.seq, drawn.role, "yes", "Ada", sample=sample.id)
        rubrics.put_labels(db, RUBRIC, run, [label, replace(label, author="Ben"), replace(label, answer="no")])
        assert rubrics.samples(db, RUBRIC, run) == [sample]
        said = [(each.author, each.answer) for each in rubrics.labels(db, RUBRIC, run)]
        assert sorted(said) == [("Ada", "no"), ("Ben", "yes")]
        other = replace(RUBRIC, question="Does it?")
        assert (rubrics.samples(db, other, run), rubrics.labels(db, other, run)) == ([], [])
        rubrics.delete_label(db, RUBRIC, run, label)
        assert len(rubrics.labels(db, RUBRIC, run)) == 1
        runs.delete(db, run)
        assert (rubrics.samples(db, RUBRIC, run), rubrics.labels(db, RUBRIC, run)) == ([], [])
        assert db.execute("SELECT count(*) FROM sampled_text").fetchall() == [(0,)]

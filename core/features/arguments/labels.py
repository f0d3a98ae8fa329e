"""Labels: texts of a run are sampled for a rubric, people answer it, and answers are exported and
imported as CSV (`label_files`). An answer is stored at once and replaces the same person's earlier
answer for the text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence, Set

import numpy as np
import pandas as pd

from core.base.errors import InputError
from core.base.hashes import sha256_of
from core.base.texts import check_name
from core.features.arguments import readings, rubric_tables, text_sampling
from core.features.arguments.rubric import Rubric
from core.features.arguments.rubric_tables import Sample, SampledText, TextLabel
from core.features.arguments.text_sampling import Design
from core.runs.workspace import Workspace
from core.store import Cursor, changes, runs
from core.store.runs import Run


def draw_sample(
    workspace: Workspace,
    rubric: Rubric,
    run: str,
    size: int,
    design: Design = "simple",
    seed: int = 0,
) -> Sample:
    """Return texts of a run to read for a rubric, drawn now or, if the same ones were drawn before,
    then.

    seed: the same draws the same again. Strata are the answers of the newest reading by a model.
    Raise InputError if the run has no text that the rubric asks about, and for a rubric that takes
    no labels; NotFound if no model answered it; ReadOnly.
    """
    workspace.refuse_if_read_only("draw sample", rubric.name)
    with workspace.store.read() as db:
        found = runs.find(db, run)
        texts = rubric_tables.texts(db, found.id, rubric)
        if not takes_labels(rubric, readings.list_readings(db, rubric, found.id)):
            raise InputError(
                f"sample for {rubric.name}: a rule answers it, which has no error rate; expected a"
                " rubric that a model has read"
            )
    if texts.empty:
        raise InputError(
            f"sample for {rubric.name}: {found.name} has no text that it asks about, expected a run"
            " with briefs"
        )
    strata, reading = pd.Series("", texts.index), ""
    if design == "stratified":
        answers, reading = readings.answers(workspace, rubric, found.id, "model")
        keys = ["pair_id", "seq"]
        strata = texts[keys].merge(answers[[*keys, "answer"]], "left", keys)["answer"].fillna("")
    drawn = text_sampling.draw(strata.tolist(), size, np.random.default_rng(seed))
    chosen = texts.iloc[drawn.places][["pair_id", "seq", "role"]].astype({"seq": object})
    sampled = tuple(
        map(SampledText, *(chosen[name] for name in chosen), drawn.probabilities.tolist())
    )
    what = (rubric.name, rubric.sha256, found.id, design, reading, seed)
    identity = sha256_of(json.dumps([*what, [(text.pair_id, text.seq) for text in sampled]]))[:12]
    sample = Sample(identity, *what, workspace.settings.author, sampled)
    with workspace.change("draw sample", rubric.name) as (db, detail):
        detail |= {"run": found.id, "sample": sample.id, "design": design, "texts": len(sampled)}
        known = {each.id: each for each in rubric_tables.samples(db, rubric, found.id)}
        if sample.id not in known:
            rubric_tables.add_sample(db, sample)
            changes.bump(db, "labels")
    return known.get(sample.id, sample)


def takes_labels(rubric: Rubric, of_run: Sequence[Run]) -> bool:
    """Return whether people's labels say anything about a rubric's answers: not where only a rule
    answers.

    of_run: the readings of the run.
    """
    is_by_model = rubric.unit == "claim" or not rubric.is_answered_by_rule
    return is_by_model or any(readings.rubric_of(each).sha256 == rubric.sha256 for each in of_run)


def give_labels(workspace: Workspace, rubric: Rubric, run: str, given: Sequence[TextLabel]) -> None:
    """Store answers, all or none. Raise InputError for an answer or a text that does not belong to
    the rubric."""
    with workspace.change("label", rubric.name) as (db, detail):
        found = runs.find(db, run)
        texts = text_keys(db, rubric, found.id, sorted({label.pair_id for label in given}))
        for label in given:
            check_label(rubric, texts, label)
        rubric_tables.put_labels(db, rubric, found.id, given)
        changes.bump(db, "labels")
        detail |= {"run": found.id, "labels": [_describe(label) for label in given]}


def take_back(workspace: Workspace, rubric: Rubric, run: str, label: TextLabel) -> None:
    """Delete an author's answer for a text, if there is one. The answer itself is ignored."""
    with workspace.change("take label back", rubric.name) as (db, detail):
        found = runs.find(db, run)
        rubric_tables.delete_label(db, rubric, found.id, label)
        changes.bump(db, "labels")
        detail |= {"run": found.id, "labels": [_describe(label)]}


def _describe(label: TextLabel) -> str:
    return f"{label.pair_id} {label.seq} {label.answer} by {label.author}"


def text_keys(
    db: Cursor, rubric: Rubric, run: str, pair_ids: Sequence[str] | None = None
) -> set[tuple[str, int, str]]:
    """Return the texts of a run (id) that a rubric asks about: pair_id, seq, role. pair_ids: of
    these rows, None for all."""
    asked = rubric_tables.texts(db, run, rubric, pair_ids)
    return set(zip(asked["pair_id"], asked["seq"].astype(int), asked["role"], strict=True))


def check_label(rubric: Rubric, texts: Set[tuple[str, int, str]], label: TextLabel) -> None:
    """Raise InputError for a label without an author, of another answer, or of a text that is not
    among `texts`."""
    check_name("label's author", label.author)
    if label.answer not in rubric.answers:
        raise InputError(
            f"label of {label.pair_id}: answer {label.answer!r}, expected"
            f" {', '.join(rubric.answers)}"
        )
    if (label.pair_id, label.seq, label.role) not in texts:
        raise InputError(
            f"label of {label.pair_id}, {label.role or 'row'} (seq {label.seq}): no such text in"
            f" the run, expected a {rubric.unit} that {rubric.name} asks about"
        )

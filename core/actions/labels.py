"""Labels: texts of a run are sampled for a rubric, people answer it, and answers are exported and imported as CSV
(`label_files`). An answer is stored at once and replaces the same person's earlier answer for the text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, get_args

import numpy as np

from core.actions import readings
from core.actions.workspace import Workspace
from core.audit import text_sampling
from core.audit.rubric import Rubric
from core.audit.sample_request import Design
from core.audit.text_sampling import Drawn
from core.errors import InputError
from core.store import Cursor, changes, rubrics, runs
from core.store.rubrics import Sample, SampledText, TextLabel
from core.texts import check_name

if TYPE_CHECKING:
    import pandas as pd

DESIGNS: tuple[Design, ...] = get_args(Design)
# (workspace, rubric, run, design) → the columns of `core.store.rubrics.readings`, and the run that answered, "rule" for a rule.
FindAnswers = Callable[[Workspace, Rubric, str, Design], "tuple[pd.DataFrame, str]"]


def answers_by_judge(workspace: Workspace, rubric: Rubric, run: str, design: Design) -> tuple[pd.DataFrame, str]:
    """Return the answers of the rubric's rule, else of the newest reading by a model.

    For `unsure`, always the model's, since a rule has no probabilities. Raise NotFound if there is none.
    """
    found: tuple[pd.DataFrame, str] = readings.answers(workspace, rubric, run, "model" if design == "unsure" else None)
    return found


def draw_sample(
    workspace: Workspace,
    rubric: Rubric,
    run: str,
    size: int,
    design: Design = "random",
    seed: int = 0,
    *,
    find_answers: FindAnswers = answers_by_judge,
) -> Sample:
    """Return draws texts of a run to read for a rubric.

    Return the sample that is there already if the same texts were drawn before. seed: the same draws the same again.
    find_answers: what the designs stratified and unsure go by. Raise InputError if the run has no text that the rubric asks
    about, or if the answers have no probabilities to be unsure by; ReadOnly.
    """
    workspace.refuse_if_read_only("draw sample", rubric.name)
    with workspace.store.read() as db:
        found = runs.find(db, run)
        texts = rubrics.texts(db, found.id, rubric)
    if texts.empty:
        raise InputError(f"sample for {rubric.name}: {found.name} has no text that it asks about, expected a run with briefs")
    rng, reading = np.random.default_rng(seed), ""
    if design == "random":
        drawn = text_sampling.draw_random(len(texts), size, rng)
    else:
        answers, reading = find_answers(workspace, rubric, found.id, design)
        drawn = _draw_by_answers(texts, answers, design, size, rng)
    chosen = texts.iloc[drawn.places]
    sampled = tuple(
        SampledText(str(pair_id), int(seq), str(role), float(probability))
        for pair_id, seq, role, probability in zip(
            chosen["pair_id"], chosen["seq"], chosen["role"], drawn.probabilities, strict=True
        )
    )
    author = workspace.settings.author
    sample = Sample(rubric.name, rubric.sha256, found.id, design, reading, seed, author, sampled)
    with workspace.change("draw sample", rubric.name) as (db, detail):
        known = next((each for each in rubrics.samples(db, rubric, found.id) if _is_same_draw(each, sample)), None)
        detail |= {"run": found.id, "sample": (known or sample).id, "design": design, "texts": len(sampled)}
        if known is None:
            rubrics.add_sample(db, sample)
            changes.bump(db, "labels")
    return known or sample


def _is_same_draw(known: Sample, drawn: Sample) -> bool:
    return replace(known, id=drawn.id, author=drawn.author) == drawn


def _draw_by_answers(texts: pd.DataFrame, answers: pd.DataFrame, design: Design, size: int, rng: np.random.Generator) -> Drawn:
    by_text = texts[["pair_id", "seq"]].merge(answers[["pair_id", "seq", "answer", "p"]], "left", ["pair_id", "seq"])
    if design == "stratified":
        return text_sampling.draw_stratified(by_text["answer"].fillna("").tolist(), size, rng)
    p = by_text["p"].to_numpy(float)
    if np.isnan(p).all():
        raise InputError(
            "sample by unsure: the judge's answers have no probabilities, expected a reading by a model with log-probabilities; "
            "draw random or stratified"
        )
    return text_sampling.draw_unsure(p, size, rng)


def give_label(workspace: Workspace, rubric: Rubric, run: str, label: TextLabel) -> None:
    """Store an answer. Raise InputError for an answer or a text that does not belong to the rubric."""
    give_labels(workspace, rubric, run, [label])


def give_labels(workspace: Workspace, rubric: Rubric, run: str, given: Sequence[TextLabel]) -> None:
    """Stores several answers, all or none, as `give_label` does."""
    with workspace.change("label", rubric.name) as (db, detail):
        found = runs.find(db, run)
        for label in given:
            _check(rubric, label)
        _refuse_unknown_texts(db, rubric, found.id, given)
        rubrics.put_labels(db, rubric, found.id, given)
        changes.bump(db, "labels")
        detail |= {"run": found.id, "labels": [_describe(label) for label in given]}


def take_back(workspace: Workspace, rubric: Rubric, run: str, label: TextLabel) -> None:
    """Delete an author's answer for a text, if there is one. The answer itself is ignored."""
    with workspace.change("take label back", rubric.name) as (db, detail):
        found = runs.find(db, run)
        rubrics.delete_label(db, rubric, found.id, label)
        changes.bump(db, "labels")
        detail |= {"run": found.id, "labels": [_describe(label)]}


def _describe(label: TextLabel) -> str:
    return f"{label.pair_id} {label.seq} {label.answer} by {label.author}"


def _check(rubric: Rubric, label: TextLabel) -> None:
    check_name("label's author", label.author)
    if label.answer not in rubric.answers:
        raise InputError(f"label of {label.pair_id}: answer {label.answer!r}, expected {', '.join(rubric.answers)}")


def _refuse_unknown_texts(db: Cursor, rubric: Rubric, run: str, given: Sequence[TextLabel]) -> None:
    asked = rubrics.texts(db, run, rubric, sorted({label.pair_id for label in given}))
    known = set(zip(asked["pair_id"], asked["seq"].astype(int), asked["role"], strict=True))
    for label in given:
        if (label.pair_id, label.seq, label.role) not in known:
            raise InputError(
                f"label of {label.pair_id}, {label.role or 'row'} (seq {label.seq}): no such text in the run, expected a "
                f"{rubric.unit} that {rubric.name} asks about"
            )

"""Further facts about a text that a person has answered: the row's label, the run's prediction and
the judge's answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.base.errors import DeskError
from core.features.arguments import readings
from core.features.arguments.rubric import Rubric
from core.features.arguments.rubric_tables import TextLabel
from core.runs.workspace import Workspace
from core.store.runs import Run
from core.ui.loaders.rows import row_details
from core.ui.widgets import label_text, percent_text


def describe(
    workspace: Workspace,
    rubric: Rubric,
    run: Run,
    label: TextLabel,
    texts: Mapping[tuple[str, int], Mapping[str, str]],
) -> dict[str, Any]:
    """Return the key, the title, and lines of (name, value)."""
    numbers = row_details(run.id, label.pair_id).numbers
    text = texts[label.pair_id, label.seq]
    shares = (numbers["p_de"], numbers["p_up_given_de"])
    predicted = (
        "none: a reading"
        if run.is_reading
        else "P(DE) {}, P(up | DE) {}".format(*map(percent_text, shares))
    )
    return {
        "key": f"{label.pair_id}/{label.seq}",
        "title": " · ".join(filter(None, (f"{text['pert']} ⟶ {text['gene']}", text["role"]))),
        "lines": [
            ("your answer", label.answer),
            ("the judge's answer", _judgement_text(workspace, rubric, run, label)),
            ("label", label_text(numbers["label"])),
            ("prediction", predicted),
        ],
    }


def _judgement_text(workspace: Workspace, rubric: Rubric, run: Run, label: TextLabel) -> str:
    """Return the answer of the rule or the newest reading in words, or why there is none."""
    try:
        answers, made_by = readings.answers(workspace, rubric, run.id)
    except DeskError:
        return "none: neither a rule nor a finished reading by a model answers it"
    found = answers[(answers["pair_id"] == label.pair_id) & (answers["seq"] == label.seq)]
    if found.empty:
        return "none for this text"
    first = found.iloc[0]
    sure = (
        f", P({rubric.answers[0]}) {percent_text(first['p'])}" if first["p"] == first["p"] else ""
    )
    passage = f", from “{first['passage']}”" if first.get("passage") else ""
    return (
        f"{first['answer'] or 'could not be read'}{sure}"
        f" ({'rule' if made_by == 'rule' else 'model'}){passage}"
    )

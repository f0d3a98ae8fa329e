"""How far labels can be trusted stands in one sentence beside every score: commands, `--json`, pages, reports."""

from __future__ import annotations

import re

import pytest

from core.base.result import UNMARKED, LabelMarks
from core.features.sharing.report.selection import select
from core.runs.workspace import Workspace
from core.store import changes
from core.store.connection import Cursor
from tests.commands import core, core_json
from tests.features.sharing.built import build_report
from tests.features.sharing.test_report import LABELLED, RUNS

MARKED = LabelMarks(0.34, 0.05, 2)
SCORED = (
    ("score", LABELLED),
    ("score", LABELLED, "--by", "P(DE)"),
    ("score", LABELLED, "--by", "gene"),
    ("compare", *RUNS[:2]),
    ("baselines", "--dataset", "simulated", "--split", "train"),
)


def mark(db: Cursor, marks: LabelMarks) -> None:
    values = [marks.false_share, marks.nominal, marks.confounded]
    db.execute("UPDATE dataset SET false_share = ?, nominal_share = ?, confounded = ?", values)
    changes.bump(db, "datasets")


@pytest.fixture
def marked(demo_copy: Workspace) -> Workspace:
    with demo_copy.store.write() as db:
        mark(db, MARKED)
    return demo_copy


@pytest.mark.parametrize(
    ("marks", "is_marked", "said"),
    [
        (UNMARKED, False, ""),
        (LabelMarks(0.1, 0.05), False, ""),  # twice the nominal rate is not above it
        (
            LabelMarks(0.101, 0.05),
            True,
            "These labels are marked: 10% of the effects are expected to be false",
        ),
        (
            LabelMarks(0.02, 0.05, 1),
            False,
            "Without labels, since they are confounded with their batch: 1 perturbation.",
        ),
        (
            MARKED,
            True,
            "Without labels, since they are confounded with their batch: 2 perturbations.",
        ),
    ],
)
def test_the_sentence(marks: LabelMarks, is_marked: bool, said: str) -> None:
    assert marks.marked == is_marked
    assert said in marks.sentence
    assert bool(marks.sentence) == bool(said)


@pytest.mark.soak
def test_it_stands_beside_every_score_that_a_command_prints(marked: Workspace) -> None:
    place = marked.settings.workspace
    for command in SCORED:
        assert core_json(place, *command)["label_marks"] == MARKED.json_value, command
        assert MARKED.sentence in core(place, *command).out, command


@pytest.mark.soak
@pytest.mark.parametrize("slides", [False, True])
def test_it_stands_in_a_report(marked: Workspace, slides: bool) -> None:
    with marked.store.read() as db:
        selection = select(db, RUNS)
    content = build_report(marked, "ours", selection, slides=slides).content.decode()
    said = re.escape(MARKED.sentence)
    assert len(re.findall(f'<p class="caution">{said}</p>', content)) == 1
    captions = re.findall('<(?:figcaption|p class="muted")>(.*?)</', content)
    scored = [caption for caption in captions if "AUROC, scored over" in caption]
    assert len(scored) == 2
    assert all(MARKED.sentence in caption for caption in scored)

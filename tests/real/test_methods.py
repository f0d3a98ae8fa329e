"""Methods on the published rows: the rule set, the longest prompts, and the briefs that the phrase list was measured on."""

from __future__ import annotations

import csv
import hashlib
import re
from pathlib import Path

import pytest

from core.base.fields.record import read_options
from core.base.types import Pair
from core.evidence.label_view import LabelView, all_training
from core.evidence.packs import Packs
from core.evidence.render import dossier
from core.features.importing.reader import read_path
from core.features.importing.submissions import SubmissionTable
from core.methods import debate as texts
from core.methods import prompts
from core.methods.base import Context
from core.methods.brief_checks import check_brief
from core.methods.debate import METHOD as DEBATE
from core.methods.evidence_rules import METHOD as RULE_SET
from core.methods.prompts import B_PROMPT_TOKENS
from tests.evidence.world import gathered
from tests.real.conftest import read_pairs

NAMES = [tool.name for tool in prompts.tools_of(prompts.PACK_TOOLS)]

pytestmark = pytest.mark.real

MARKED = Path(__file__).resolve().parents[1] / "features" / "arguments" / "marked_briefs.csv"


@pytest.fixture(scope="module")
def view(shared_data: Path) -> LabelView:
    return all_training(read_pairs(shared_data / "challenge" / "train.csv"))


@pytest.fixture(scope="module")
def asked(shared_data: Path) -> tuple[Pair, ...]:
    return read_pairs(shared_data / "challenge" / "test.csv")


@pytest.mark.soak
def test_the_rule_set_predicts_every_row(
    packs: Packs, view: LabelView, asked: tuple[Pair, ...]
) -> None:
    results = RULE_SET.predict_batch(asked, Context(asked, {}, lambda _: view, packs))
    predictions = [result.prediction for result in results]
    assert [one.pair_id for one in predictions] == [row.pair_id for row in asked]
    assert all(0 < one.p_de < 1 and one.flags == () for one in predictions)
    assert len({one.p_de for one in predictions}) > 500
    # Tests and training share no perturbation and no gene, so that no row has a record of its own.
    assert all(result.events[0].content.count("[nothing known]") >= 4 for result in results)


@pytest.mark.soak
def test_advocates_see_no_option_and_prompts_stay_short(
    packs: Packs, view: LabelView, asked: tuple[Pair, ...]
) -> None:
    options = read_options(DEBATE.settings, {})
    for row in asked[::20]:
        found = dossier(gathered(row, packs, view, NAMES), row).text
        case = texts.DebateCase(row.pert, row.gene, found, "", options)
        for side in texts.OPPONENT:
            sent = "\n".join(message.content for message in texts.brief_messages(side, case))
            assert not re.search(r"^\W*[A-E][).:]|<answer>|<prob>", sent, re.MULTILINE), sent
            assert (
                len(sent.encode()) < B_PROMPT_TOKENS
            )  # and no tokenizer makes more tokens than bytes


@pytest.fixture(scope="module")
def briefs(shared_data: Path) -> dict[tuple[str, str], str]:
    table = read_path(shared_data / "perturbagent" / "track_b_sharp.zip")
    assert isinstance(table, SubmissionTable)
    return {
        (row.prediction.pair_id, event.role): event.content
        for row in table.rows
        for event in row.events
        if event.kind == "brief"
    }


def _name(pair_id: str, role: str) -> str:
    """How the file of marks names a brief: it holds nothing of the published ones."""
    return hashlib.sha256(f"{role} {pair_id}".encode()).hexdigest()[:16]


@pytest.mark.soak
def test_the_phrases_of_conclusions_find_the_briefs_that_were_read(
    briefs: dict[tuple[str, str], str],
) -> None:
    with MARKED.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    marks = {
        finding: {row["brief"] for row in lines if row["finding"] == finding}
        for finding in ("other_side", "own_side")
    }
    assert {row["holds"] for row in lines} == {"yes"}
    assert (len(lines), len(marks["other_side"]), len(marks["own_side"])) == (
        257,
        100,
        157,
    )  # as the module's first lines state
    findings = {_name(*key): check_brief(key[1], text, key[0]) for key, text in briefs.items()}
    found = {finding: {name for name, of in findings.items() if finding in of} for finding in marks}
    assert all(found[finding] >= marks[finding] for finding in marks)
    # Every brief that opens with no option's letter and concludes for the other side was read: a new one has to be read first.
    assert {name for name in found["other_side"] if "option" not in findings[name]} <= marks[
        "other_side"
    ]

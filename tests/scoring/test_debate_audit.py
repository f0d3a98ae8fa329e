"""The counts of an audit and the sentence that sums them up."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.base.result import fields_of
from core.methods.brief_checks import FINDINGS
from core.scoring.debate_audit import DebateAudit, DebateFacts, audit_debate


def audit(
    has_dossier: bool = True, rows: dict[int, int] | None = None, **findings: list[int]
) -> DebateAudit:
    """Of five rows with briefs by EFFECT and NULL; findings: one number for each."""
    briefs = pd.DataFrame({"role": ["EFFECT", "NULL"], "n": [5, 5], **findings})
    p_de = np.array([0.1 + 0.2, 0.3, 0.5, np.nan, 0.5])
    return audit_debate(
        DebateFacts(
            briefs, rows or {0: 1, 2: 4}, {"role_collapse": 3, "dir_fallback": 1}, p_de, has_dossier
        ),
        "a run",
    )


def test_as_json_by_hand() -> None:
    found = fields_of(audit(answers=[2, 1], cites=[4, 0]))
    zeros = dict.fromkeys(FINDINGS, 0)
    assert found == {
        "run": "a run",
        "roles": {
            "EFFECT": {"n": 5, **zeros, "answers": 2, "cites": 4},
            "NULL": {"n": 5, **zeros, "answers": 1},
        },
        "rows_by_arguing": [1, 0, 4],  # nobody, one, both
        "rows": 5,
        "collapsed": 3,
        "de_fallbacks": 0,
        "dir_fallbacks": 1,
        "distinct_p_de": 2,  # 0.1 + 0.2 and 0.3 are one value
    }


def test_citations_are_unknown_without_a_dossier() -> None:
    found = audit(has_dossier=False, answers=[2, 1])
    assert [counts["cites"] for counts in found.roles.values()] == [None, None]
    total = found.with_total["all"]
    assert (total["n"], total["answers"], total["cites"]) == (10, 3, None)
    assert "no dossier" in " ".join(found.caveats)


def test_no_briefs() -> None:
    found = audit_debate(
        DebateFacts(pd.DataFrame({"role": [], "n": []}), {}, {}, np.array([0.5]), False), "a run"
    )
    assert not found.roles
    assert found.rows_by_arguing == (0,)
    assert found.figure() is None


@pytest.mark.parametrize(
    ("findings", "expected"),
    [
        (
            {"answers": [2, 1], "answers_against": [1, 0], "short": [1, 1]},
            "3 of 10 briefs answer the multiple-choice question instead of arguing, 1 of them against their own side; "
            "in 1 of 5 rows no advocate wrote 120 characters.",
        ),
        (
            {"short": [1, 1]},
            "No brief of 10 answers the multiple-choice question, but 2 are short; "
            "in 1 of 5 rows no advocate wrote 120 characters.",
        ),
        (
            {},
            "The advocates argued: all 10 briefs have 120 characters or more, and none answers a question.",
        ),
        (
            {"other_side": [0, 1]},
            "The advocates argued: all 10 briefs have 120 characters or more, and none answers a question; "
            "1 conclude for the other side.",
        ),
    ],
)
def test_the_advocates_argued_only_if_all_did(
    findings: dict[str, list[int]], expected: str
) -> None:
    assert audit(**findings).sentence == expected


def test_briefs_are_letters_lines_or_paragraphs() -> None:
    lengths = audit(bare=[2, 0], short=[2, 3]).tables()[0].rows
    assert [[*line.values()] for line in lengths] == [["EFFECT", 2, 0, 3], ["NULL", 0, 3, 2]]

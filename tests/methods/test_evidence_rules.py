"""The rule set: every sum by hand, on the evidence tests' small world."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest

from core.base.fields.record import options_of
from core.base.types import Flag, Label, Pair, RowResult
from core.evidence.label_view import LabelView
from core.evidence.packs import Packs, Response
from core.methods.evidence_rules import METHOD, RULES
from tests.evidence.world import PACKS, TEST, pair
from tests.methods.world import BLIND, VIEW, context


def predict(row: Pair, view: LabelView = VIEW, packs: Packs = PACKS) -> RowResult:
    return METHOD.predict_batch([row], context(METHOD, view=view, packs=packs))[0]


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def test_an_unknown_target_of_a_gene_with_labelled_partners() -> None:
    found = predict(TEST).prediction
    # Base rates: 5 of 9 changed, 3 of these 5 up. Partners Stat1 and Irf1: 3 of 5 rows changed, 1 of these 3 up; mixed with
    # 20 rows of the base rate. Gm12345 is uncharacterised.
    base_de, base_up = math.log(5 / 4), math.log(3 / 2)
    partners_de = (3 + 20 * 5 / 9) / 25
    partners_up = (1 + 20 * 3 / 5) / 23
    de = base_de + 0.5 * (math.log(partners_de / (1 - partners_de)) - base_de) - 0.5
    up = base_up + 0.5 * (math.log(partners_up / (1 - partners_up)) - base_up)
    assert found.p_de == pytest.approx(sigmoid(de)) == pytest.approx(0.43565, abs=1e-5)
    assert found.p_up_given_de == pytest.approx(sigmoid(up)) == pytest.approx(0.58271, abs=1e-5)
    assert found.prediction_up == pytest.approx(sigmoid(de) * sigmoid(up))
    assert found.prediction_up + found.prediction_down == pytest.approx(sigmoid(de))
    assert (found.flags, found.tokens, found.p_source) == ((), 0, "trace")


def test_losing_an_activator_lowers_its_target() -> None:
    found = predict(pair("Stat1_Cxcl10", None, "test"), BLIND).prediction
    # Known regulation 1; response to LPS 0.15 · 2.5; sign −1.2; no labels in view, so that nothing else speaks.
    assert found.p_de == pytest.approx(sigmoid(1 + 0.375))
    assert found.p_up_given_de == pytest.approx(sigmoid(-1.2))
    assert found.flags == (Flag.UNCOVERED, Flag.UNCOVERED_DIR)


def test_losing_a_repressor_raises_it_and_an_unknown_sign_says_nothing() -> None:
    assert predict(
        pair("Bcl6_Cxcl10", None, "test"), BLIND
    ).prediction.p_up_given_de == pytest.approx(sigmoid(1.2))
    of_unknown = predict(pair("Spi1_Cxcl10", None, "test"), BLIND).prediction
    assert (of_unknown.p_de, of_unknown.p_up_given_de) == (pytest.approx(sigmoid(1.375)), 0.5)


def test_symbols_are_the_same_in_any_case() -> None:
    assert predict(
        pair("STAT1_CXCL10", None, "test"), BLIND
    ).prediction.p_up_given_de == pytest.approx(sigmoid(-1.2))


def test_an_interaction_counts_by_its_score() -> None:
    assert predict(pair("Jak1_Irf1", None, "test"), BLIND).prediction.p_de == pytest.approx(
        sigmoid(0.6 * 0.9)
    )


@pytest.mark.parametrize(
    ("gene", "de", "up"),
    [
        ("Asns", 0.4, 1.0),  # integrated stress response
        ("Cdkn1a", 0.4, 1.0),  # p53
        ("Cdk1", 0.0, 0.0),  # cell cycle: listed, without weight
        ("Rpl13", 0.0, 0.0),  # ribosome: the same
        ("Rela", 0.0, 0.0),
    ],
)
def test_programs(gene: str, de: float, up: float) -> None:
    found = predict(pair(f"Zzz_{gene}", None, "test"), BLIND).prediction
    assert (found.p_de, found.p_up_given_de) == (
        pytest.approx(sigmoid(de)),
        pytest.approx(sigmoid(up)),
    )


def test_a_gene_that_is_hardly_expressed_is_called_less_often() -> None:
    packs = replace(PACKS, responses={"Il6": Response(-4.0, 0.0, 0.01, 0.05, 0.09)})
    # The response counts up to 3: 0.15 · 3 − 0.4.
    assert predict(pair("Zzz_Il6", None, "test"), BLIND, packs).prediction.p_de == pytest.approx(
        sigmoid(0.45 - 0.4)
    )


def test_a_views_labels_move_a_row_and_nothing_else_does() -> None:
    more = LabelView((*VIEW.rows, *(pair(f"Jak1_G{i}", Label.UP) for i in range(20))))
    assert predict(TEST, more).prediction.p_de > predict(TEST).prediction.p_de
    labelled = replace(TEST, label=Label.UP)
    assert predict(labelled).prediction == predict(TEST).prediction


def test_labels_that_all_agree_are_no_base_rate() -> None:
    view = LabelView((pair("Stat1_Il6", Label.UP), pair("Stat1_Actb", Label.UP)))
    found = predict(TEST, view)
    assert found.prediction.p_de == pytest.approx(sigmoid(-0.5))
    assert found.prediction.flags == (Flag.UNCOVERED, Flag.UNCOVERED_DIR)
    assert "No base rate is in view" in found.events[0].content


def test_the_trace_is_the_table_and_adds_up() -> None:
    (event,) = predict(TEST).events
    assert (event.stage, event.role, event.kind) == ("rules", "RULE SET", "table")
    assert event.content.startswith("A rule set, not a model")
    lines = re.findall(
        r"^ *([+-]\d+\.\d\d) × *(silent|[+-]\d+\.\d{3}) = +([+-]\d+\.\d{3})  (.+?) \(",
        event.content,
        re.MULTILINE,
    )
    assert [(float(weight), name) for weight, _, _, name in lines] == [
        (rule.weight, rule.name) for rule in RULES
    ]
    sums = [float(total) for total in re.findall(r"sum = +([+-]\d+\.\d{3})", event.content)]
    tasks = [rule.task for rule in RULES]
    for task, total, key in zip(
        ("P(DE)", "P(up | DE)"), sums, ("p_de", "p_up_given_de"), strict=True
    ):
        products = [float(line[2]) for line, of in zip(lines, tasks, strict=True) if of == task]
        assert sum(products) == pytest.approx(total, abs=0.003)
        assert event.meta[key] == pytest.approx(sigmoid(total), abs=0.001)


def test_without_packs_the_rules_are_silent_and_the_trace_says_why() -> None:
    found = predict(pair("Stat1_Cxcl10", None, "test"), packs=Packs())
    # Its labels alone: 2 rows of Stat1, 1 changed, down; 2 of Cxcl10, both changed, down.
    base = math.log(5 / 4)
    shares = [(hits + 20 * 5 / 9) / (rows + 20) for hits, rows in ((1, 2), (2, 2))]
    assert found.prediction.p_de == pytest.approx(
        sigmoid(base + sum(math.log(p / (1 - p)) - base for p in shares))
    )
    content = found.events[0].content
    assert content.count("[offline: knowledge pack ") == sum(
        rule.tool in ("pathway_neighbours", "protein_interactions", "regulators", "lps_response")
        for rule in RULES
    )
    assert "[offline: knowledge pack signs: none for this run]" in content


def test_it_calls_no_model_and_is_called_a_rule_set() -> None:
    assert (
        METHOD.needs_model,
        METHOD.calls({}),
        METHOD.prompts({}),
        options_of(METHOD.settings),
    ) == (False, 0, "", ())
    assert "rule set" in METHOD.about


def test_the_weight_that_labels_took_away_says_so() -> None:
    (rule,) = (rule for rule in RULES if rule.weight == 0)
    assert "cell cycle 19 up, 11 down" in rule.why

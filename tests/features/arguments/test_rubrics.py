"""Rubrics of one's own beside the built-in ones."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from core.base.errors import InputError, NotFound, StateError
from core.base.records import from_json, to_json
from core.features.arguments import readings, rubric_tables
from core.features.arguments import rubric as pattern
from core.features.arguments.rubric import Rubric, answer_by_rule, count_answers, rubrics_of_rules
from core.features.importing import backups, imported_rows
from core.features.server import doctor
from core.methods.brief_checks import ALL, FINDINGS
from core.methods.text_rules.text import RuleText, rule_named, rules
from core.runs.workspace import Workspace
from core.scoring.debate_audit import DebateAudit, load_audit
from core.store import Cursor, changes, runs
from tests.worlds import workspace_in

TOML = """name = "names-a-pathway"
question = "Does the brief name a pathway?"
roles = ["EFFECT"]
pattern = "pathway|signal(l)?ing"
"""
OWN = Rubric(
    "names-a-pathway",
    "Does the brief name a pathway?",
    roles=("EFFECT",),
    pattern="pathway|signal(l)?ing",
)


def test_a_rubric_of_a_file_is_kept_once_and_found(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text(TOML, "utf-8")
    assert readings.add_rubric_file(workspace, tmp_path / "r.toml") == OWN
    assert readings.add_rubric_file(workspace, tmp_path / "r.toml") == OWN
    assert readings.list_rubrics(workspace) == [*readings.built_in_rubrics(), OWN]
    assert readings.find_rubric(workspace, OWN.name) == OWN
    assert readings.find_rubric(workspace, "short").question == rules()["short"].question
    with workspace.store.read() as db:
        [written] = changes.latest(db).to_dict("records")
    assert (written["action"], written["subject"], written["author"]) == (
        "add rubric",
        OWN.name,
        "tester",
    )


def test_names_are_taken_once(workspace: Workspace, tmp_path: Path) -> None:
    assert readings.add_rubric(workspace, OWN)
    assert not readings.add_rubric(workspace, OWN)
    with pytest.raises(StateError, match="another of that name"):
        readings.add_rubric(workspace, Rubric(OWN.name, "Does it?"))
    with pytest.raises(StateError, match="rubric 'short': there is another of that name"):
        readings.add_rubric(workspace, Rubric("short", "Is it?"))
    with pytest.raises(InputError, match="rubric mine: rule is 'short', expected none"):
        readings.add_rubric(workspace, Rubric("mine", "Is it?", rule="short"))
    with pytest.raises(
        NotFound,
        match=r"rubric 'long': not known, expected one of advocates_arguing, .*names-a-pathway",
    ):
        readings.find_rubric(workspace, "long")
    (tmp_path / "r.toml").write_text('name = "x"\nquestion = "Is it?"\nrule = "short"\n', "utf-8")
    with pytest.raises(InputError, match=r"r\.toml, line 3: rule is not known"):
        readings.add_rubric_file(workspace, tmp_path / "r.toml")


@pytest.mark.soak
def test_an_own_rubric_outlives_an_undo_and_a_backup(
    small_workspace: Workspace, tmp_path: Path
) -> None:
    readings.add_rubric(small_workspace, OWN)
    imported_rows.undo(small_workspace, "debate.csv")
    assert readings.find_rubric(small_workspace, OWN.name) == OWN
    assert doctor.examine(small_workspace.settings).store == "ok"
    backups.back_up(small_workspace, tmp_path / "b.zip")
    copy = workspace_in(tmp_path / "copy")
    backups.restore(copy, tmp_path / "b.zip")
    assert readings.list_rubrics(copy) == readings.list_rubrics(small_workspace)


OF_ROWS = {"advocates_arguing", "role_collapse", "de_fallback", "dir_fallback"}
TEXTS = pd.DataFrame(
    {
        "pair_id": ["Pa_Ga", "Pa_Ga", "Pa_Gb"],
        "pert": ["Pa", "Pa", "Pa"],
        "gene": ["Ga", "Ga", "Gb"],
        "seq": [0, 1, 0],
        "stage": ["de", "de", "de"],
        "role": ["EFFECT", "NULL", "EFFECT"],
        "content": ["NF-kB rises.", "C", "A nf-κB site."],
        "findings": [[], ["short"], []],
        "flags": [[], [], []],
        "briefs": [[], [], []],
        "has_dossier": [False, False, False],
    }
)


def test_every_check_of_the_audit_is_a_rule_and_every_rule_has_its_rubric() -> None:
    assert set(rules()) >= {*FINDINGS, *OF_ROWS}
    assert [rubric.name for rubric in rubrics_of_rules()] == sorted(rules())
    for rubric in rubrics_of_rules():
        assert rubric.rule == rubric.name
        assert rubric.name not in FINDINGS or rubric.unit == "brief"
        assert from_json(Rubric, to_json(rubric), "rubric") == rubric
    with pytest.raises(
        NotFound, match="'long': not known, expected one of advocates_arguing, against"
    ):
        rule_named("long")


def audited_by_rubrics(
    db: Cursor, run: str
) -> tuple[DebateAudit, dict[str, dict[str, dict[str, object]]]]:
    """The audit of a run, and the counts of every rubric: rubric → role → counts."""
    by_rubric = {}
    for rubric in rubrics_of_rules():
        by_rubric[rubric.name] = count_answers(
            rubric, answer_by_rule(rubric, rubric_tables.texts(db, run, rubric))
        )
    return load_audit(db, run), by_rubric


@pytest.mark.soak
@pytest.mark.parametrize(
    "name", ["simulated collapsed debate", pytest.param("simulated debate", marks=pytest.mark.soak)]
)
def test_the_audit_is_what_the_rubrics_answer(demo_workspace: Workspace, name: str) -> None:
    with demo_workspace.store.read() as db:
        audit, by_rubric = audited_by_rubrics(db, runs.find(db, name).id)
    for role, of_role in audit.with_total.items():
        for finding in FINDINGS:
            counts = by_rubric[finding][role]
            assert (counts["n"], counts["yes"], counts["unanswered"]) == (
                of_role["n"],
                of_role[finding],
                0,
            ), (finding, role)
    assert by_rubric["answers"][ALL]["yes"] == audit.totals["answers"]
    arguing = by_rubric["advocates_arguing"][ALL]["answers"]
    assert tuple(arguing.values()) == audit.rows_by_arguing  # type: ignore[attr-defined]
    flagged = [
        by_rubric[name][ALL]["yes"] for name in ("role_collapse", "de_fallback", "dir_fallback")
    ]
    assert flagged == [audit.collapsed, audit.de_fallbacks, audit.dir_fallbacks]


def test_what_a_run_does_not_keep_is_not_answered(small_workspace: Workspace) -> None:
    with small_workspace.store.read() as db:
        _, by_rubric = audited_by_rubrics(db, runs.find(db, "debate").id)
    assert (by_rubric["cites"][ALL]["n"], by_rubric["cites"][ALL]["unanswered"]) == (
        0,
        12,
    )  # the file kept no dossier
    # Three rows of four briefs, all of 120 characters but the C) of one UP. The fourth row has no debate.
    arguing = by_rubric["advocates_arguing"][ALL]
    assert (arguing["n"], arguing["answers"]) == (
        3,
        {"none": 0, "one": 0, "two": 0, "three": 1, "four or more": 2},
    )
    assert (by_rubric["against"]["UP"]["n"], by_rubric["against"]["UP"]["yes"]) == (3, 1)


def test_a_citation_is_looked_for_where_the_dossier_is_at_hand() -> None:
    cites = rule_named("cites").answer
    assert cites(RuleText("The HEAT response.", "UP", citable={"heat response"})) == "yes"
    assert cites(RuleText("The HEAT response.", "UP", findings=("cites",), citable=())) == "no"
    assert (
        cites(RuleText("The HEAT response.", "UP", findings=("cites",), has_dossier=True)) == "yes"
    )
    assert cites(RuleText("The HEAT response.", "UP", findings=("cites",))) == ""


@pytest.mark.parametrize(
    ("symbols", "expected"), [("Pa_Ga", "yes"), ("Pa_Gab", "no"), ("pb_Ga", "no"), ("P-a_Ga", "no")]
)
@pytest.mark.parametrize(
    "mark", ["", "é"]
)  # without and with a character that is not ASCII, which are searched differently
def test_symbols_are_words(symbols: str, expected: str, mark: str) -> None:
    text = f"PA1 and xPa, then (pa) acts on **Ga**{mark}. Gabc_Gab, Gab2."
    assert (
        rule_named("genes").answer(
            RuleText(text.replace(f"{mark}.", f" {mark}."), "UP", pair_id=symbols)
        )
        == expected
    )


def test_a_pattern_is_found_in_any_case() -> None:
    found = answer_by_rule(Rubric("nf", "Is it named?", pattern=r"nf-?(k|κ)b\b"), TEXTS)
    assert list(found.columns) == ["pair_id", "seq", "role", "stage", "answer", "p"]
    assert found["answer"].tolist() == ["yes", "no", "yes"]
    assert found["p"].isna().all()
    assert answer_by_rule(Rubric("nf", "Is it named?", pattern="nf"), TEXTS[:0]).empty


@pytest.mark.parametrize("written", ["(", "(?=a)b", r"(a)\1", "a{1001}"])
def test_a_pattern_that_cannot_be_searched_in_time_is_refused(written: str) -> None:
    with pytest.raises(
        InputError, match=r"^rubric p: pattern .*expected a regular expression for RE2"
    ):
        Rubric("p", "Is it there?", pattern=written)


def test_a_repetition_inside_a_repetition_ends() -> None:
    assert pattern.search_pattern("(a+)+$", ["a" * 50_000 + "b", "a"], "here") == [False, True]


def test_a_rubric_without_a_rule_is_for_people_and_models() -> None:
    with pytest.raises(InputError, match="rubric q: has neither rule nor pattern"):
        answer_by_rule(Rubric("q", "Is it so?"), TEXTS)
    with pytest.raises(InputError, match="rubric q: its rule answers 'no', expected oui, non"):
        answer_by_rule(
            Rubric("q", "Is it so?", ("oui", "non"), rule="short"),
            TEXTS[:1].assign(content="x" * 200),
        )

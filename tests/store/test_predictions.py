"""Finding rows by what is odd about them."""

from __future__ import annotations

import pytest

from core.base.errors import NotFound
from core.base.types import RANK_METHODS, Prediction, RowResult, TraceEvent
from core.runs import actions, audited_rows
from core.runs.audited_rows import audit_rows
from core.runs.workspace import Workspace
from core.store import pairs, predictions, runs, traces
from core.store.predictions import ADVOCATES_DISAGREE, CONFIDENTLY_WRONG, MOST_ARGUED, RowFilter


def found(
    workspace: Workspace, wanted: RowFilter, order: predictions.Order = "file order"
) -> list[str]:
    with workspace.store.read() as db:
        return predictions.find_pair_ids(db, runs.find(db, "debate").id, wanted, order)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (RowFilter(), ["Pa_Ga", "Pa_Gb", "Pb_Ga", "Pc_Gc"]),
        (RowFilter(labels=("up",)), ["Pa_Ga"]),
        (RowFilter(labels=("up", "no label")), ["Pa_Ga", "Pc_Gc"]),
        # up .3, down .1, none .6 is called none; up .2, down .2, none .6 too
        (RowFilter(outcome="hit"), ["Pa_Gb"]),
        (RowFilter(outcome="miss"), ["Pa_Ga", "Pb_Ga"]),
        (RowFilter(p_de=(0.5, 1.0)), ["Pc_Gc"]),
        (RowFilter(p_up=(0.0, 0.5)), []),  # Pb_Ga and Pc_Gc are at 0.5: ranges are open above
        (RowFilter(p_up=(0.5, 0.6)), ["Pb_Ga", "Pc_Gc"]),
        (RowFilter(pert="Pa"), ["Pa_Ga", "Pa_Gb"]),
        (RowFilter(pert="Pa", gene="Gb"), ["Pa_Gb"]),
        (RowFilter(split="test"), ["Pc_Gc"]),
        (RowFilter(naming="gene model"), []),
        (RowFilter(gene_rows="1"), ["Pc_Gc"]),
        (RowFilter(gene_rows="2–3"), ["Pa_Ga", "Pa_Gb", "Pb_Ga"]),
        (RowFilter(flags=("role_collapse",)), ["Pa_Gb"]),
        (RowFilter(flags=("role_collapse", "trace_differs")), ["Pa_Gb", "Pb_Ga"]),
        (RowFilter(finding=("UP", "against")), ["Pa_Gb"]),
        (RowFilter(finding=("DOWN", "against")), []),
        (RowFilter(text="does NOT affect"), ["Pa_Gb"]),
        (RowFilter(text="gc"), ["Pc_Gc"]),
        (RowFilter(text="a.c"), []),  # text, not a pattern
    ],
)
def test_filters(small_workspace: Workspace, wanted: RowFilter, expected: list[str]) -> None:
    assert found(small_workspace, wanted) == expected


@pytest.mark.soak
def test_rows_with_notes(small_workspace: Workspace) -> None:
    assert found(small_workspace, RowFilter(noted=True)) == []
    actions.add_note(small_workspace, "debate", "Pb_Ga", "odd")
    assert found(small_workspace, RowFilter(noted=True)) == ["Pb_Ga"]
    with small_workspace.store.read() as db:
        listed = predictions.list_rows(db, runs.find(db, "debate").id, ["Pb_Ga", "Pa_Ga"])
    assert listed[["pair_id", "notes"]].to_numpy().tolist() == [["Pb_Ga", 1], ["Pa_Ga", 0]]


@pytest.mark.soak
def test_orders(small_workspace: Workspace) -> None:
    assert found(small_workspace, RowFilter(), "P(DE), high first")[0] == "Pc_Gc"
    assert found(small_workspace, RowFilter(), "P(up | DE), high first")[:2] == ["Pa_Ga", "Pa_Gb"]
    assert found(small_workspace, RowFilter(), "P(up | DE), low first")[:2] == ["Pb_Ga", "Pc_Gc"]
    # The probability of the label: down .2, up .3, none .6, and a row without a label.
    assert found(small_workspace, RowFilter(), CONFIDENTLY_WRONG) == [
        "Pb_Ga",
        "Pa_Ga",
        "Pa_Gb",
        "Pc_Gc",
    ]
    # Four advocates argued, four, three, and none.
    assert found(small_workspace, RowFilter(), MOST_ARGUED) == ["Pa_Ga", "Pb_Ga", "Pa_Gb", "Pc_Gc"]


@pytest.mark.soak
def test_rows_are_ordered_by_disagreement_between_advocates(small_workspace: Workspace) -> None:
    sides = {
        ("Pa_Ga", "EFFECT"): ["own_side"],  # its opponent concludes for the same side: they agree
        ("Pa_Ga", "NULL"): ["own_side", "other_side"],
        ("Pa_Gb", "UP"): [
            "answers"
        ],  # a letter of its own side is a side taken: one pair disagrees
        ("Pa_Gb", "DOWN"): ["own_side"],
        ("Pa_Gb", "EFFECT"): ["answers", "answers_against"],
        ("Pa_Gb", "NULL"): ["own_side"],
        **{
            ("Pb_Ga", role): ["own_side"] for role in ("EFFECT", "NULL", "UP", "DOWN")
        },  # both pairs do
    }
    with small_workspace.store.write() as db:
        run = runs.find(db, "debate").id
        db.execute("UPDATE trace_event SET findings = [] WHERE run = ?", [run])
        for (pair_id, role), findings in sides.items():
            of_role = "run = ? AND pair_id = ? AND role = ? AND kind = 'brief'"
            db.execute(
                f"UPDATE trace_event SET findings = ? WHERE {of_role}",
                [findings, run, pair_id, role],
            )
    assert found(small_workspace, RowFilter(), ADVOCATES_DISAGREE) == [
        "Pb_Ga",
        "Pa_Gb",
        "Pa_Ga",
        "Pc_Gc",
    ]


@pytest.mark.soak
def test_a_listed_row_says_hit_or_miss_where_it_has_a_label(small_workspace: Workspace) -> None:
    with small_workspace.store.read() as db:
        listed = predictions.list_rows(
            db, runs.find(db, "debate").id, ["Pa_Ga", "Pa_Gb", "Pb_Ga", "Pc_Gc"]
        )
    assert listed["outcome"].fillna("").tolist() == ["miss", "hit", "miss", ""]  # all say none


@pytest.mark.soak
def test_one_row_and_its_trace(small_workspace: Workspace) -> None:
    with small_workspace.store.read() as db:
        run = runs.find(db, "debate").id
        row = predictions.row(db, run, "Pa_Gb")
        assert (row["label"], row["call"], row["p_de"], row["p_up_given_de"]) == (
            "none",
            "none",
            0.4,
            0.75,
        )
        events = traces.of_row(db, run, "Pa_Gb")
        assert [event["role"] for event in events] == [
            "EFFECT",
            "NULL",
            "JUDGE",
            "UP",
            "DOWN",
            "JUDGE",
        ]
        assert events[2]["meta"] == {"p": 0.4, "fallback": False}
        assert events[3]["findings"] == [
            "answers",
            "answers_against",
            "short",
            "option",
            "against",
            "genes",
            "other_side",
        ]
        assert traces.of_row(db, run, "Pc_Gc") == []
        with pytest.raises(NotFound, match="Pb_Gb"):
            predictions.row(db, run, "Pb_Gb")


@pytest.mark.soak
def test_a_symbols_rows_with_and_without_a_run(small_workspace: Workspace) -> None:
    with small_workspace.store.read() as db:
        run = runs.find(db, "debate")
        rows = predictions.rows_of_symbol(db, run.dataset, "gene", "Gb")
    assert rows["pair_id"].tolist() == ["Pa_Gb", "Pb_Gb"]
    assert rows["run"].fillna("none").tolist() == [run.id, "none"]


@pytest.mark.soak
def test_a_support_that_is_no_number_is_none(small_workspace: Workspace) -> None:
    told = {"Pa_Ga": 2.5, "Pa_Gb": "plenty", "Pb_Ga": None, "Pb_Gb": {"of": 3}}
    rows = [
        RowResult(
            Prediction(key, 0.1, 0.1, 0.2, 0.5, "trace"),
            (TraceEvent("prior", "NEIGHBOURS", "text", "", meta={"support": s}),),
        )
        for key, s in told.items()
    ]
    with small_workspace.change("test", "near") as (db, _):
        dataset = runs.find(db, "debate").dataset
        of_run = {
            "id": "0123456789",
            "dataset": dataset,
            "name": "near",
            "method": "knn",
            "origin": "made here",
            "spec": {},
        }
        run = audited_rows.write_run(db, audit_rows(rows), **of_run)
    with small_workspace.store.read() as db:
        support = predictions.frame(db, run.id)["support"]
    assert support.isna().tolist() == [False, True, True, True]
    assert support[0] == 2.5


@pytest.mark.soak
@pytest.mark.parametrize("method", RANK_METHODS)
def test_rank_scores_are_no_call_and_neither_hit_nor_miss(
    small_workspace: Workspace, method: str
) -> None:
    with small_workspace.store.write() as db:
        run = runs.find(db, "debate").id
        db.execute("UPDATE run SET method = ? WHERE id = ?", [method, run])
        assert predictions.row(db, run, "Pa_Gb")["call"] is None
    assert found(small_workspace, RowFilter(outcome="hit")) == []
    assert found(small_workspace, RowFilter(outcome="miss")) == []


@pytest.mark.soak
def test_a_change_of_unknown_direction_is_hit_by_either_direction(
    small_workspace: Workspace,
) -> None:
    with small_workspace.store.write() as db:
        run = runs.find(db, "debate").id
        db.execute("UPDATE pair SET label = 'de' WHERE pair_id IN ('Pa_Ga', 'Pb_Ga')")
        numbers = [
            ("Pa_Ga", 0.1, 0.6),
            ("Pb_Ga", 0.1, 0.2),
            ("Pa_Gb", 0.6, 0.1),
        ]  # down, none, and up where nothing changed
        for pair_id, up, down in numbers:
            db.execute(
                "UPDATE prediction SET prediction_up = ?, prediction_down = ? WHERE run = ? AND pair_id = ?",
                [up, down, run, pair_id],
            )
    assert found(small_workspace, RowFilter(outcome="hit")) == ["Pa_Ga"]
    assert found(small_workspace, RowFilter(outcome="miss")) == ["Pa_Gb", "Pb_Ga"]


@pytest.mark.soak
def test_pairs_come_in_their_order_however_they_lie(small_workspace: Workspace) -> None:
    """As after an undo and another import: file order counts, and what people typed stands last."""
    with small_workspace.store.write() as db:
        dataset = runs.find(db, "debate").dataset
        asked = pairs.add_asked(db, dataset, "Pz", "Gz").pair_id
        before = pairs.frame(db, dataset, asked=True)
        db.execute("UPDATE pair SET position = 100 - position WHERE dataset = ?", [dataset])
        after = pairs.frame(db, dataset, asked=True)
        own = pairs.frame(db, dataset)
    assert before["pair_id"].tolist()[-1] == asked
    in_file = before["pair_id"].tolist()[:-1]
    assert after["pair_id"].tolist() == [*in_file[::-1], asked]
    assert own["pair_id"].tolist() == in_file[::-1]
    assert [*own.columns] == ["pair_id", "pert", "gene", "label", "split"]
    assert own.index.tolist() == [*range(len(own))]

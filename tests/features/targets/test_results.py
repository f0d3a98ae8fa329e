"""A training, its folder and its tables: whole, resumed after a crash, and evaluated."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from core.base.errors import InputError, MissingPackage, NotFound
from core.base.result import to_json
from core.features.targets.actions import RankingFolder, prepare, train_models
from core.features.targets.evaluate import (
    ALL_GENES,
    EvaluationRequest,
    TrainingOptions,
    check_request,
    evaluate,
    request_of,
)
from core.features.targets.expression import ReadCells
from core.features.targets.metrics import KS
from core.features.targets.splits import Split
from core.features.targets.tables import PUBLISHED, TargetTable, table_of
from tests.features.targets import cases


@pytest.fixture(autouse=True)
def _models() -> Iterator[None]:
    with cases.registered():
        yield


Prepared = tuple[ReadCells, Split]


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    with cases.registered():
        return prepare(cases.request())


def trained(
    folder: Path, prepared: Prepared, said: list[tuple[float, str]] | None = None
) -> RankingFolder:
    made = RankingFolder(folder / "small")
    made.create(cases.request())
    train_models(
        made, *prepared, lambda share, what: None if said is None else said.append((share, what))
    )
    return made


@pytest.mark.soak
def test_every_model_is_fitted_saved_and_evaluated(tmp_path: Path, prepared: Prepared) -> None:
    said = []
    folder = trained(tmp_path, prepared, said)
    assert said == [
        (0.25, "fallen: fitting"),
        (0.75, "fallen_trained: fitting"),
        (1.0, "evaluating"),
    ]
    assert folder.saved_models() == ("fallen", "fallen_trained")
    assert folder.split() == prepared[1]
    [saved] = folder.evaluations()
    again = evaluate(folder.load_models(), prepared[0].cells, prepared[1], EvaluationRequest())
    assert saved.table.equals(again.table)
    assert saved.settings["pool"] == ALL_GENES
    assert [manifest["model"] for manifest in folder.manifests().values()] == [
        "fallen",
        "fallen_trained",
    ]


@pytest.mark.soak
def test_knocked_down_genes_fall_so_they_are_found(tmp_path: Path, prepared: Prepared) -> None:
    """The simulator lets a perturbed gene fall: ranking by that beats chance; unseen genes are out of the other's reach."""
    [saved] = trained(tmp_path, prepared).evaluations()
    rows = cases.by_model(saved.table, "mrr", None).set_index("model")
    assert rows.loc["fallen", "low"] - rows.loc["fallen", "random"] > 0.3
    hits = cases.by_model(saved.table, "relevant_hit", 10).set_index("model")
    assert hits["estimate"].to_dict() == {"fallen": 1.0, "fallen_trained": 0.625}
    for metric, k in (("relevant_hit", 1), ("recall", 5), ("exact_hit", 40)):
        of_trained = cases.by_model(saved.table, metric, k).set_index("model").loc["fallen_trained"]
        assert of_trained["estimate"] <= of_trained["ceiling"]


def test_a_training_goes_on_after_the_models_that_are_there(
    tmp_path: Path, prepared: Prepared
) -> None:
    folder = trained(tmp_path, prepared)
    shutil.rmtree(folder.model("fallen_trained"))
    untouched = (folder.model("fallen") / "manifest.json").read_bytes()
    said = []
    train_models(folder, *prepared, lambda share, what: said.append((share, what)))
    assert said[0] == (0.75, "fallen_trained: fitting")
    assert (folder.model("fallen") / "manifest.json").read_bytes() == untouched


def test_a_training_does_not_go_on_with_other_cells(tmp_path: Path, prepared: Prepared) -> None:
    read, split = prepared
    other = replace(read, cells=replace(read.cells, x=read.cells.x * 2))
    folder = trained(tmp_path, prepared)
    shutil.rmtree(folder.model("fallen_trained"))
    before = (folder.path / "data.json").read_bytes()
    with pytest.raises(
        InputError, match="its cells are not those on which the training of small began"
    ):
        train_models(folder, other, split, lambda *_: None)
    assert (folder.path / "data.json").read_bytes() == before
    shutil.rmtree(folder.path / "models")
    # nothing was trained: other cells are welcome
    train_models(folder, other, split, lambda *_: None)
    assert folder.saved_models() == ("fallen", "fallen_trained")


@pytest.mark.soak
def test_evaluations_of_other_settings_stand_beside_one_another(
    tmp_path: Path, prepared: Prepared
) -> None:
    folder = trained(tmp_path, prepared)
    for settings in (
        EvaluationRequest("targets"),
        EvaluationRequest(unit="cell"),
        EvaluationRequest("targets"),
    ):
        folder.write_evaluation(
            evaluate(folder.load_models(), prepared[0].cells, prepared[1], settings)
        )
    assert sorted(
        (each.settings["mask"], each.settings["unit"]) for each in folder.evaluations()
    ) == [
        ("none", "cell"),
        ("none", "condition"),
        ("targets", "condition"),
    ]


def test_a_wrong_or_missing_part_is_said(tmp_path: Path, prepared: Prepared) -> None:
    with pytest.raises(NotFound, match=r"has no request\.json"):
        RankingFolder(tmp_path / "nothing").request()
    folder = RankingFolder(tmp_path / "begun")
    folder.create(cases.request())
    with pytest.raises(NotFound, match="no model is fitted"):
        folder.load_models()
    (folder.path / "data.json").write_text("[", "utf-8")
    with pytest.raises(InputError, match=r"data\.json: cannot be read"):
        folder.split()
    other = cases.request()
    published = Split(("A",), ("B",), ("C",), "file", source="split.json")
    with pytest.raises(InputError, match=r"3 conditions of the split split\.json have no cells"):
        prepare(replace(other, split=published))
    del prepared


def test_a_published_split_leaves_no_kind_to_draw(tmp_path: Path) -> None:
    file = tmp_path / "split.json"
    file.write_text(
        json.dumps({"train_conditions": ["A"], "val_conditions": ["B"], "test_conditions": ["C"]}),
        "utf-8",
    )
    hard, compositional = (
        request_of(TrainingOptions(cases.request(kind=kind), split_file=file), "")
        for kind in ("hard", "compositional")
    )
    assert hard == compositional
    assert hard.split == Split(("A",), ("B",), ("C",), "file", source="split.json")


@pytest.mark.soak
def test_tables_for_people_and_programs(tmp_path: Path, prepared: Prepared) -> None:
    [saved] = trained(tmp_path, prepared).evaluations()
    folder = trained(tmp_path / "again", prepared)
    found = table_of(folder, saved, "recall")
    wide, published = found.tables()
    assert [row["model"] for row in wide.rows] == [
        "fallen",
        "fallen_trained",
        "random ranking",
        "ceiling, trained genes only",
    ]
    assert (
        list(wide.rows[0])[1:]
        == list(published.rows[0])[1:]
        == [f"recall@{k}" for k in (1, 5, 10, 20, 40)]
    )
    record = to_json(found)
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert {row["k"] for row in record["rows"]} == {None, 1, 5, 10, 20, 40}
    every = table_of(folder, saved)
    assert list(every.tables()[3].rows[0]) == ["model", "MRR"]
    assert every.sentence.startswith("fallen has the highest MRR, ")
    assert TargetTable().sentence.startswith("No model is evaluated here")


def test_what_is_wrong_with_a_request_is_said() -> None:
    request = cases.request()
    with pytest.raises(InputError, match="got no model"):
        check_request(replace(request, models={}))
    with pytest.raises(
        NotFound,
        match="ranking model 'crystal ball': not known, expected one of fallen, fallen_trained",
    ):
        check_request(replace(request, models={"crystal ball": {}}))
    with pytest.raises(InputError, match="setting 'quiet': not known"):
        check_request(replace(request, models={"fallen": {"quiet": "yes"}}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(
            cases.MODELS,
            "fallen",
            replace(cases.MODELS["fallen"], packages=("json", "no_such_package")),
        )
        with pytest.raises(
            MissingPackage,
            match=r"fallen needs no_such_package, .* pip install -r requirements-targets\.txt",
        ):
            check_request(request)


def test_the_published_table_is_whole() -> None:
    table = pd.DataFrame(PUBLISHED)
    assert len(table) == table["model"].nunique() * (3 * len(KS) + 1)
    xgboost = (
        table[(table["model"] == "xgboost") & (table["k"] == 40)]
        .set_index("metric")["value"]
        .to_dict()
    )
    assert xgboost == {"exact_hit": 0.1842, "relevant_hit": 0.5526, "recall": 0.3684}
    # shares of 38 conditions, as they were published with four digits
    shares = table[
        table["scored"].str.contains("38 conditions") & (table["metric"] == "relevant_hit")
    ]["value"]
    assert all(abs(value * 38 - round(value * 38)) < 0.003 for value in shares)
    assert table[table["metric"] == "mrr"]["value"].tolist() == [0.1975, 0.3602, 0.3232, 0.3323]
    wide = table.dropna(subset="k").pivot(index=["model", "k"], columns="metric", values="value")
    assert (wide["exact_hit"] <= wide["recall"]).all()
    assert (wide["recall"] <= wide["relevant_hit"]).all()
    for metric in ("relevant_hit", "exact_hit", "recall"):
        assert all(rows.is_monotonic_increasing for _, rows in wide[metric].groupby("model"))

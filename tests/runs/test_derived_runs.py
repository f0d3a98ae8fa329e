"""kNN, fusion and decomposition as runs of a workspace, on a small screen."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from core.base.errors import InputError, NotFound, StateError
from core.base.types import Flag
from core.features.importing.actions import import_upload
from core.features.importing.import_target import ImportOptions
from core.features.importing.spaces.load import load_space
from core.features.neighbours import spaces
from core.methods.fusion_settings import FusionSettings
from core.runs import component_loader, launch, run_control
from core.runs.component_loader import WorkspaceComponents
from core.runs.request import RunRequest
from core.runs.run_state import Counts, Heartbeat, write_heartbeat
from core.runs.spec import ExecutionSettings, RunSpec
from core.runs.workspace import Workspace, open_workspace
from core.store import runs, traces
from core.store.datasets import Dataset
from core.store.runs import Run
from core.transfer.knn import Priors, Weighting
from core.transfer.knn_settings import KnnSettings, read_knn_settings
from core.transfer.protocols import (
    EvaluationProtocol,
    SimilaritySettings,
    cells_of,
    parts_of,
    predict_priors,
)
from core.transfer.row_index import RowIndex, visible_rows
from core.transfer.similarity import space_over
from tests import cases, worlds
from tests.derived import rows_of, save_fusion, save_knn, save_recovered
from tests.features.importing.test_actions import unchanged
from tests.runs.cases import run_named
from tests.worlds import Screen

NAN = float("nan")
BMDM = ImportOptions(dataset="bmdm")
TEST, LOO, FOLDS = (
    EvaluationProtocol("test"),
    EvaluationProtocol("loo"),
    EvaluationProtocol("folds", 3, 1),
)


@pytest.fixture
def world(workspace: Workspace, furnished: Path) -> Screen:
    """The screen, in `workspace`."""
    worlds.copied(furnished, workspace)
    return worlds.screen()


def dataset_of(workspace: Workspace) -> Dataset:
    return component_loader.default_dataset(workspace, None)


def probabilities(rows: pd.DataFrame) -> np.ndarray:
    return rows[["p_de", "p_up_given_de", "prediction_up", "prediction_down"]].to_numpy()


def flags_of(rows: pd.DataFrame) -> dict[str, list[str]]:
    """pair id → flags, of the rows that carry any."""
    return {str(key): list(flags) for key, flags in rows["flags"].items() if len(flags)}


def trace_of(workspace: Workspace, run: Run, pair_id: str) -> dict[str, Any]:
    """The one event of a row."""
    with workspace.store.read() as db:
        [event] = traces.of_row(db, run.id, pair_id)
    return event


def knn(
    workspace: Workspace,
    name: str,
    protocol: EvaluationProtocol = TEST,
    space: str = "near",
    **more: Any,
) -> Run:
    return save_knn(
        workspace,
        dataset_of(workspace),
        KnnSettings((space,), protocol, SimilaritySettings(**more)),
        name,
    )


def other_vectors(workspace: Workspace, world: Screen) -> None:
    """Put another space in the place of "near"."""
    vectors = {symbol: vector[::-1] for symbol, vector in list(world.vectors.items())[:-1]}
    import_upload(workspace, worlds.table_of(vectors), "near.csv", ImportOptions(replace=True))


def one_more_label(workspace: Workspace) -> None:
    content = cases.as_csv(["id", "pert", "gene", "label"], [["Z_G0", "Z", "G0", "up"]])
    import_upload(workspace, content, "more.csv", BMDM)


def expected_priors(
    world: Screen, plan: KnnSettings, folder: Path
) -> tuple[RowIndex, np.ndarray, Priors]:
    """Straight from the files: a layout, the rows that are predicted, and their priors."""
    layout = RowIndex.build(world.ids, world.pert, world.gene, world.labels)
    test = plan.protocol.kind == "test"
    rows = np.flatnonzero([(label is None) == test for label in world.labels])
    (folder / "near.csv").write_bytes(world.files()["near.csv"])
    space = space_over(load_space(folder / "near.csv", "near"), layout.symbols)
    return (
        layout,
        rows,
        predict_priors(
            plan.protocol, layout.rows.take(rows), layout.known, [space], plan.similarity
        ).priors,
    )


def base_rates(layout: RowIndex, rows: np.ndarray, protocol: EvaluationProtocol) -> np.ndarray:
    """P(DE) and P(up | DE) among the labelled rows that each of these rows may see, counted row by row; shape (2, n_rows)."""
    parts = parts_of(protocol, layout.rows.take(rows), layout.known.rows)
    labels, found = layout.labels[layout.known_positions], []
    for pert, gene in zip(layout.rows.pert[rows], layout.rows.gene[rows], strict=True):
        seen = labels[visible_rows((int(pert), int(gene)), layout.known.rows, parts)]
        found.append([np.mean(seen != "none"), np.mean(seen[seen != "none"] == "up")])
    return np.array(found).T


@pytest.mark.few(1)
@pytest.mark.parametrize("protocol", [TEST, LOO, FOLDS], ids=lambda protocol: protocol.kind)
@pytest.mark.parametrize(
    "similarity",
    [
        SimilaritySettings(),
        SimilaritySettings(Weighting(power=3.0, de_power=1.0, k=4), centre=True, strength=0.5),
        pytest.param(SimilaritySettings(Weighting(axis="pert")), marks=pytest.mark.soak),
        SimilaritySettings(Weighting(axis="both"), centre=True),
    ],
    ids=["plain", "many knobs", "pert", "both"],
)
def test_a_knn_run_holds_the_priors_of_its_plan(
    workspace: Workspace,
    world: Screen,
    tmp_path: Path,
    protocol: EvaluationProtocol,
    similarity: SimilaritySettings,
) -> None:
    plan = KnnSettings(("near",), protocol, similarity)
    run = save_knn(workspace, dataset_of(workspace), plan, "knn")
    layout, rows, priors = expected_priors(world, plan, tmp_path)
    found = rows_of(workspace, "knn")
    assert found.index.tolist() == [layout.pair_ids[i] for i in rows]
    rate_de, rate_up = base_rates(layout, rows, protocol)
    np.testing.assert_allclose(
        found["p_de"], np.where(priors.covered, priors.de, rate_de), atol=1e-12
    )
    directed, changed = ~np.isnan(priors.up), found["p_de"] > 0
    expected_up = np.where(directed, priors.up, rate_up)
    np.testing.assert_allclose(found["p_up_given_de"][changed], expected_up[changed], atol=1e-12)
    assert found["p_up_given_de"][~changed].isna().all()
    np.testing.assert_allclose(
        found["prediction_up"] + found["prediction_down"], found["p_de"], atol=1e-12
    )
    assert (run.method, run.origin, run.total, run.done, run.failed) == (
        "knn",
        "run here",
        len(rows),
        len(rows),
        0,
    )
    assert (run.tokens, run.parents, run.dataset) == (0, (), dataset_of(workspace).id)
    uncovered = {
        layout.pair_ids[i] for i, there in zip(rows, priors.covered, strict=True) if not there
    }
    assert {key for key, flags in flags_of(found).items() if Flag.UNCOVERED in flags} == uncovered
    assert run.fallbacks == len(flags_of(found)) >= len(uncovered)
    with workspace.store.read() as db:
        assert len(traces.frame(db, run.id)) == len(rows)


@pytest.mark.soak
def test_a_run_of_an_earlier_version_is_another_run(screen: Workspace) -> None:
    """Its numbers are others, so it is not returned for a new request; its name is taken, and the error says by what."""
    old = knn(screen, "knn")
    with screen.store.write() as db:
        db.execute(
            "UPDATE run SET id = 'of1', spec = ? WHERE id = ?",
            [json.dumps({**old.spec, "version": 1}), old.id],
        )
        db.execute("UPDATE prediction SET run = 'of1' WHERE run = ?", [old.id])
    screen.run_folder(old.id).remove()
    with pytest.raises(StateError, match="another specification; choose another name"):
        knn(screen, "knn")
    assert knn(screen, "new").id == old.id


@pytest.mark.soak
def test_other_vectors_or_labels_are_another_specification(
    workspace: Workspace, world: Screen
) -> None:
    knn(workspace, "knn")
    other_vectors(workspace, world)
    with pytest.raises(StateError, match="another specification"):
        knn(workspace, "knn")
    knn(workspace, "again")
    one_more_label(workspace)
    with pytest.raises(StateError, match="another specification"):
        knn(workspace, "again")


def coresponse(workspace: Workspace) -> None:
    options = {"dataset": "bmdm", "of": "gene", "columns": 3, "seed": 0}
    spaces.embed(workspace, "coresponse", "labels", options)


@pytest.mark.soak
def test_a_space_from_the_same_labels_is_never_scored_on_them(screen: Workspace) -> None:
    coresponse(screen)
    with pytest.raises(
        InputError, match=r"space labels: built from the labels of bmdm.* \(protocol loo\)"
    ):
        knn(screen, "loo", LOO, space="labels")
    with screen.store.read() as db:
        assert len(runs.list_all(db)) == 2


def crossed(labels: Sequence[Any]) -> bytes:
    """Every symbol of eight as perturbation of every other one, so that what acts has labels as a target too."""
    return cases.as_csv(
        ["id", "pert", "gene", "label"],
        [(f"{a}_{b}", a, b, x) for (a, b), x in zip(CROSSED, labels, strict=True)],
    )


SYMBOLS = [f"S{i}" for i in range(8)]
CROSSED = [(a, b) for a in SYMBOLS for b in SYMBOLS if a != b]


@pytest.mark.soak
def test_under_folds_it_is_rebuilt_from_what_each_cell_may_see(
    workspace: Workspace, tmp_path: Path
) -> None:
    """Labels that no row of a cell may see do not change that cell's priors, and do change others'."""
    labels = np.random.default_rng(0).choice(["up", "down", "none"], len(CROSSED))
    protocol, similarity = (
        EvaluationProtocol("folds", 2, 0),
        SimilaritySettings(Weighting(axis="pert")),
    )
    layout = RowIndex.build(
        ["_".join(pair) for pair in CROSSED], *zip(*CROSSED, strict=True), labels
    )
    parts = parts_of(protocol, layout.rows)
    cells = cells_of(protocol, layout.rows, parts)
    assert parts is not None
    own = cells == cells[0]
    first = int(layout.rows.pert[0]), int(layout.rows.gene[0])
    hidden = ~visible_rows(first, layout.rows, parts)
    flipped = np.select([labels == "up", labels == "down"], ["down", "none"], "up")
    other = open_workspace(replace(workspace.settings, workspace=tmp_path / "other"))
    found = []
    for each, told in ((workspace, labels), (other, np.where(hidden, flipped, labels))):
        import_upload(each, crossed(told), "train.csv")
        coresponse(each)
        save_knn(each, dataset_of(each), KnnSettings(("labels",), protocol, similarity), "folds")
        found.append(rows_of(each, "folds"))
    covered = np.array([not flags for flags in found[0]["flags"].map(len)])
    assert covered[own].any()
    np.testing.assert_array_equal(probabilities(found[0][own]), probabilities(found[1][own]))
    assert (probabilities(found[0][~own]) != probabilities(found[1][~own])).any()


@pytest.mark.soak
def test_along_genes_a_rebuilt_space_covers_nothing(workspace: Workspace, world: Screen) -> None:
    """A row may see no label of its own gene, so nothing is left to build that gene's vector from."""
    coresponse(workspace)
    run = knn(workspace, "folds", FOLDS, space="labels")
    assert run.fallbacks == run.total == world.n_train
    loader = WorkspaceComponents(workspace, dataset_of(workspace))
    found = loader.predict_knn(KnnSettings(("labels",), FOLDS), None).evaluation()
    assert found.coverage == 0
    assert (found.score.de.value, found.score.dir.value) == (
        0.5,
        0.5,
    )  # base rates, equal inside a cell
    assert np.isnan([found.covered.de.value, found.covered.dir.value]).all()


@pytest.mark.soak
def test_under_test_it_is_taken_as_it_is(screen: Workspace) -> None:
    """Of the rows to be predicted, the one whose gene has labels under other perturbations is covered."""
    coresponse(screen)
    extra = cases.as_csv(["id", "pert", "gene"], [["Q9_G0", "Q9", "G0"]])
    import_upload(screen, extra, "extra.csv", BMDM)
    knn(screen, "test", space="labels")
    found = flags_of(rows_of(screen, "test"))
    assert "Q9_G0" not in found
    assert len(found) == 6


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("rows", "protocol", "lacking"),
    [
        (["train.csv"], TEST, "rows to predict beside labelled training rows"),
        (["test.csv"], TEST, "labelled rows to learn from"),
        (["test.csv"], LOO, "labelled rows to learn from"),
    ],
)
def test_rows_that_are_missing_are_named(
    workspace: Workspace, rows: list[str], protocol: EvaluationProtocol, lacking: str
) -> None:
    files = worlds.screen().files()
    for name in [*rows, "near.csv"]:
        import_upload(workspace, files[name], name)
    with pytest.raises(
        InputError, match=f"knn under {protocol.kind}: this dataset has no {lacking}"
    ):
        knn(workspace, "knn", protocol)


@pytest.mark.soak
def test_what_is_not_there_is_named(screen: Workspace) -> None:
    with pytest.raises(NotFound, match="space 'far': not in this workspace, which has near"):
        knn(screen, "knn", space="far")
    with pytest.raises(NotFound, match="dataset 'x'"):
        component_loader.default_dataset(screen, "x")


def test_an_empty_workspace_has_no_dataset(workspace: Workspace) -> None:
    with pytest.raises(InputError, match="no dataset; import one first"):
        component_loader.default_dataset(workspace, None)


# --- neighbours ---------------------------------------------------------------------------------------------------------


@pytest.mark.soak
def test_a_rows_neighbours_are_those_of_its_prior(workspace: Workspace, world: Screen) -> None:
    plan = KnnSettings(("near",), FOLDS, SimilaritySettings(Weighting(axis="both", de_power=1.0)))
    run = save_knn(workspace, dataset_of(workspace), plan, "knn")
    labels = dict(zip(world.ids, world.labels, strict=True))
    for pair_id in world.ids[: world.n_train : 7]:
        found = component_loader.neighbours_of(workspace, dataset_of(workspace), pair_id, plan)
        meta = trace_of(workspace, run, pair_id)["meta"]
        assert found.labels == [labels[key] for key in found.pair_ids]
        priors = [NAN if meta[name] is None else meta[name] for name in ("prior_de", "prior_up")]
        assert [found.why.prior_de, found.why.prior_up] == pytest.approx(
            priors, abs=1e-9, nan_ok=True
        )
        assert bool(found.pair_ids) == (meta["prior_de"] is not None)


@pytest.mark.soak
def test_a_test_row_sees_all_labelled_rows(workspace: Workspace, world: Screen) -> None:
    run = knn(workspace, "knn")
    for pair_id in ("Q0_H0", "Q1_H3"):
        found = component_loader.neighbours_of(
            workspace, dataset_of(workspace), pair_id, KnnSettings(("near",)), protocol_chosen=False
        )
        assert found.settings.protocol.kind == "test"
        assert found.why.prior_de == pytest.approx(
            trace_of(workspace, run, pair_id)["meta"]["prior_de"], abs=1e-9
        )
    with pytest.raises(
        InputError, match="protocol test: row 0: in the knowledge base with its own label"
    ):
        component_loader.neighbours_of(
            workspace, dataset_of(workspace), world.ids[0], KnnSettings(("near",), TEST)
        )
    with pytest.raises(InputError, match="row 'Q7_H0': not in this dataset"):
        component_loader.neighbours_of(
            workspace, dataset_of(workspace), "Q7_H0", KnnSettings(("near",))
        )


@pytest.mark.soak
def test_a_row_that_is_left_out_is_no_neighbour(screen: Workspace) -> None:
    def neighbours(*without):
        return component_loader.neighbours_of(
            screen,
            dataset_of(screen),
            "Q0_H0",
            KnnSettings(("near",)),
            protocol_chosen=False,
            without=without,
        ).pair_ids

    all_of_them = neighbours()
    assert set(neighbours(*all_of_them[:5])) == set(all_of_them[5:])
    with pytest.raises(InputError, match="row 'nobody'"):
        neighbours("nobody")


AGAINST_TRAIN = {"reference": "train", "references": {"llm test": "llm train"}}


# --- fusion -------------------------------------------------------------------------------------------------------------


def percentile(values: np.ndarray, among: np.ndarray) -> np.ndarray:
    """Mid-rank among some values / (n + 1), one by one; NaN neither counts nor is counted."""
    known = [round(value, 9) for value in among if not np.isnan(value)]
    ranks = [
        (sum(k < round(v, 9) for k in known) + sum(k <= round(v, 9) for k in known) + 1) / 2
        for v in values
    ]
    return np.where(np.isnan(values), NAN, np.array(ranks) / (len(known) + 1))


def scores(rows: pd.DataFrame, column: str, *missing: Flag) -> np.ndarray:
    """A run's column, NaN where one of the flags says that a constant stands in."""
    stands_in = rows["flags"].map(lambda flags: any(flag in flags for flag in missing))
    return rows[column].where(~stands_in, NAN).to_numpy(dtype=float)


def fuse(
    workspace: Workspace, name: str, base: str, other: str, weight: float = 0.5, **more: Any
) -> Run:
    return save_fusion(
        workspace, FusionSettings(base, (other,), (weight,), (weight,), **more), name
    )


def test_a_fusion_is_weighted_percentiles_of_its_parents(screen: Workspace) -> None:
    other = knn(screen, "knn", LOO)
    made = save_fusion(screen, FusionSettings("llm train", ("knn",), (0.3,), (0.8,)), "fused")
    base_rows, knn_rows, found = (rows_of(screen, name) for name in ("llm train", "knn", "fused"))
    for column, weight in (("p_de", 0.3), ("p_up_given_de", 0.8)):
        own = scores(base_rows, column)
        mine = percentile(own, own)
        theirs = scores(knn_rows, column, Flag.UNCOVERED)
        theirs = percentile(theirs, theirs)
        np.testing.assert_allclose(
            found[column], np.where(np.isnan(theirs), mine, (1 - weight) * mine + weight * theirs)
        )
    base = run_named(screen, "llm train")
    assert (made.method, made.parents, made.dataset) == (
        "fusion",
        (base.id, other.id),
        base.dataset,
    )
    assert (made.track, made.model, made.total) == (base.track, base.model, base.total)
    assert [made.spec["options"][name] for name in ("w_de", "w_dir", "reference")] == [
        "0.3",
        "0.8",
        "population",
    ]
    assert (made.tokens, found["tokens"].tolist()) == (base.tokens, base_rows["tokens"].tolist())
    assert found["tool_calls"].tolist() == base_rows["tool_calls"].tolist()


@pytest.mark.soak
def test_a_fusion_of_a_fusion_counts_rows_that_its_base_did_not_cover(screen: Workspace) -> None:
    """A kNN as base says nothing on some rows; the LLM speaks for them, so they are no fallback of the fusion."""
    knn(screen, "knn", LOO)
    fuse(screen, "inner", "knn", "llm train")
    missing = [
        key for key, flags in flags_of(rows_of(screen, "knn")).items() if "uncovered" in flags
    ]
    inner = rows_of(screen, "inner")
    assert {tuple(inner.loc[key, "flags"]) for key in missing} == {("partly_covered",)}
    own = scores(rows_of(screen, "llm train"), "p_de")
    mine = pd.Series(percentile(own, own), inner.index)
    np.testing.assert_allclose(inner.loc[missing, "p_de"], mine[missing])
    fuse(screen, "outer", "llm train", "inner", 1.0)
    assert not any(
        "partly_covered" in flags for flags in flags_of(rows_of(screen, "outer")).values()
    )


@pytest.mark.few(1)
@pytest.mark.parametrize("by", ["more", "less", "agreement"])
def test_weights_row_by_row_are_those_of_the_definition(screen: Workspace, by: str) -> None:
    """By support the weight goes from 0 in the covered row with the least to 0.6 in the one with the most, or back; by
    agreement it falls with the distance of ranks."""
    knn(screen, "knn", LOO)
    option = {"by_agreement": True} if by == "agreement" else {"by_support": by}
    made = fuse(screen, "fused", "llm train", "knn", 0.6, **option)
    base_rows, knn_rows, found = (rows_of(screen, name) for name in ("llm train", "knn", "fused"))
    mine, theirs = scores(base_rows, "p_de"), scores(knn_rows, "p_de", Flag.UNCOVERED)
    mine, theirs = percentile(mine, mine), percentile(theirs, theirs)
    if by == "agreement":
        up = scores(base_rows, "p_up_given_de")
        others = scores(knn_rows, "p_up_given_de", Flag.UNCOVERED, Flag.UNCOVERED_DIR)
        of_up = np.abs(percentile(up, up) - percentile(others, others))
        of_de = np.abs(mine - theirs)
        share = 1 - np.where(np.isnan(of_up), of_de, (of_de + of_up) / 2)
        told = "is scaled by how near its rank of this row is to the base's"
    else:
        run = run_named(screen, "knn")
        loader = WorkspaceComponents(screen, dataset_of(screen))
        support = loader.priors(read_knn_settings(run.spec), found.index.tolist()).support
        low, high = support[support > 0].min(), support.max()
        assert low < high
        share = np.clip((support - low) / (high - low), 0, 1)
        share = share if by == "more" else 1 - share
        told = "The weight of a kNN is scaled by the support of its prior of this row."
    weight = 0.6 * share
    np.testing.assert_allclose(
        found["p_de"], np.where(np.isnan(theirs), mine, (1 - weight) * mine + weight * theirs)
    )
    [(name, value)] = option.items()
    assert made.spec["options"][name] == value
    row = 0 if by == "agreement" else int(support.argmax())
    content = trace_of(screen, made, found.index[row])["content"]
    assert told in content
    assert by == "agreement" or f"{0.4 if by == 'more' else 1} × " in content.splitlines()[0]


@pytest.mark.soak
def test_weights_by_support_are_off_unless_they_are_chosen(screen: Workspace) -> None:
    knn(screen, "knn", LOO)
    made = fuse(screen, "fused", "llm train", "knn")
    assert fuse(screen, "fused", "llm train", "knn", by_support="no") == made
    with pytest.raises(
        InputError, match="weights by support: none of the runs fused with the base is a kNN"
    ):
        fuse(screen, "x", "llm train", "fused", by_support="more")
    with pytest.raises(InputError, match="by_support"):
        fuse(screen, "x", "llm train", "knn", by_support="some")


def test_the_same_fusion_is_the_same_run_and_another_is_refused(screen: Workspace) -> None:
    knn(screen, "knn", LOO)
    made = fuse(screen, "fused", "llm train", "knn")
    with unchanged(screen):
        with screen.store.read() as db:
            ids = runs.find(db, "llm train").id, runs.find(db, "knn").id
        assert fuse(screen, "fused", *ids) == made  # by id or by name
        with pytest.raises(StateError, match="run 'fused' exists with another specification"):
            fuse(screen, "fused", "llm train", "knn", 0.6)
        for name in ("llm train", "knn"):
            with pytest.raises(
                StateError, match=f"run '{name}': a parent of the run that would replace it"
            ):
                save_fusion(
                    screen,
                    FusionSettings("llm train", ("knn",), (0.9,), (0.5,)),
                    name,
                    replace=True,
                )
    wanted = FusionSettings("llm train", ("knn",), (0.6,), (0.5,))
    assert save_fusion(screen, wanted, "fused", replace=True).id != made.id


@pytest.mark.soak
@pytest.mark.parametrize(
    ("others", "weights", "message"),
    [
        (("knn",), (0.5, 0.5), "w_de: got 2 weights for 1 runs"),
        (("knn",), (1.5,), "w_de: got .*1.5.*, expected a list of numbers"),
        (("knn",), (-0.1,), "w_de: got .*-0.1.*, expected a list of numbers"),
        (("knn",), (NAN,), "got .*nan.*, expected a list of numbers"),
        (("knn", "llm train"), (0.7, 0.7), "expected weights from 0"),
        (("llm test",), (0.5,), "llm test: covers none of the 70 rows of llm train"),
        (("nobody",), (0.5,), "run 'nobody': not in this workspace"),
    ],
)
def test_fusions_that_make_no_sense(
    screen: Workspace, others: tuple[str, ...], weights: tuple[float, ...], message: str
) -> None:
    knn(screen, "knn", LOO)
    with unchanged(screen), pytest.raises(InputError, match=message):
        save_fusion(screen, FusionSettings("llm train", others, weights, weights), "fused")


def test_runs_of_two_datasets_are_not_fused(screen: Workspace) -> None:
    content = cases.as_csv(["pert", "gene", "label", "split"], [["A", "X", 1, "train"]])
    import_upload(screen, content, "k562-de.csv")
    import_upload(screen, cases.submission([("A_X", 0.2, 0.1, "none")]), "human.csv")
    with pytest.raises(InputError, match="human and llm train: on different datasets"):
        fuse(screen, "fused", "llm train", "human")


@pytest.mark.soak
def test_percentiles_against_labelled_rows_by_brute_force(screen: Workspace) -> None:
    """The LLM against its run on labelled rows; the kNN against its own priors under folds."""
    run = knn(screen, "knn")
    knn(screen, "own folds", EvaluationProtocol("folds"))
    made = fuse(
        screen,
        "fused",
        "llm test",
        "knn",
        0.25,
        **AGAINST_TRAIN,
    )
    mine, theirs, found = (rows_of(screen, name) for name in ("llm test", "knn", "fused"))
    labelled, folds = rows_of(screen, "llm train"), rows_of(screen, "own folds")
    for column, missing in (
        ("p_de", [Flag.UNCOVERED]),
        ("p_up_given_de", [Flag.UNCOVERED, Flag.UNCOVERED_DIR]),
    ):
        base = percentile(scores(mine, column), scores(labelled, column))
        other = percentile(scores(theirs, column, *missing), scores(folds, column, *missing))
        np.testing.assert_allclose(
            found[column], np.where(np.isnan(other), base, 0.75 * base + 0.25 * other), atol=1e-9
        )
    with screen.store.read() as db:
        key, to = made.spec["options"]["reference_runs"].split("=")
        assert (runs.find(db, key).name, runs.find(db, to).name) == ("llm test", "llm train")
    assert run.id in made.parents


@pytest.mark.soak
def test_a_component_without_a_reference_is_named(workspace: Workspace, world: Screen) -> None:
    knn(workspace, "knn")
    with pytest.raises(
        InputError, match="component llm test: has no reference run on labelled rows"
    ):
        fuse(workspace, "fused", "llm test", "knn", reference="train")
    with pytest.raises(InputError, match="reference run llm test: has no labelled training row"):
        fuse(
            workspace,
            "fused",
            "llm test",
            "knn",
            reference="train",
            references={"llm test": "llm test"},
        )
    import_upload(
        workspace,
        worlds.llm(world.ids[world.n_train :], seed=9),
        "second.csv",
        ImportOptions(name="second"),
    )
    with pytest.raises(InputError, match="component second: has no reference run"):
        fuse(
            workspace,
            "fused",
            "llm test",
            "second",
            **AGAINST_TRAIN,
        )


@pytest.mark.soak
def test_a_knn_whose_space_changed_has_no_priors_of_its_own_any_more(
    workspace: Workspace, world: Screen
) -> None:
    knn(workspace, "knn")
    other_vectors(workspace, world)
    with pytest.raises(StateError, match="knn: its spaces have changed since it was made"):
        fuse(workspace, "fused", "llm test", "knn", **AGAINST_TRAIN)
    knn(workspace, "again")
    one_more_label(workspace)
    with pytest.raises(StateError, match="again: its labels have changed"):
        fuse(workspace, "fused", "llm test", "again", **AGAINST_TRAIN)
    knn(workspace, "folds", EvaluationProtocol("folds"))
    assert (
        fuse(
            workspace,
            "fused",
            "llm test",
            "knn",
            reference="train",
            references={"llm test": "llm train", "knn": "folds"},
        ).total
        == 6
    )


# --- decomposition ------------------------------------------------------------------------------------------------------


@pytest.mark.soak
@pytest.mark.parametrize(
    ("w_de", "w_dir"),
    [
        (0.3, 0.9),
        *(pytest.param(*each, marks=pytest.mark.soak) for each in ((0.5, 0.5), (1.0, 0.6))),
    ],
)
def test_a_component_comes_back_and_fuses_to_the_same_run(
    workspace: Workspace, world: Screen, w_de: float, w_dir: float
) -> None:
    knn(workspace, "knn", LOO)
    save_fusion(workspace, FusionSettings("llm train", ("knn",), (w_de,), (w_dir,)), "fused")
    made = save_recovered(workspace, "llm train", "fused", (w_de, w_dir), "back")
    found, truth = rows_of(workspace, "back"), rows_of(workspace, "knn")
    expected = [key for key, flags in flags_of(truth).items() if "uncovered" in flags]
    assert [key for key, flags in flags_of(found).items() if "uncovered" in flags] == expected
    for column in ("p_de", "p_up_given_de"):
        own = scores(truth, column, Flag.UNCOVERED)
        np.testing.assert_allclose(
            scores(found, column, Flag.UNCOVERED), percentile(own, own), atol=1e-9
        )
    save_fusion(workspace, FusionSettings("llm train", ("back",), (w_de,), (w_dir,)), "again")
    np.testing.assert_allclose(
        probabilities(rows_of(workspace, "again")),
        probabilities(rows_of(workspace, "fused")),
        atol=1e-9,
    )
    with workspace.store.read() as db:
        assert made.parents == (runs.find(db, "llm train").id, runs.find(db, "fused").id)
    assert (made.method, made.total) == ("recovered", world.n_train)
    assert (
        "fused keeps the percentile of llm train here"
        in trace_of(workspace, made, expected[0])["content"]
    )


@pytest.mark.soak
def test_what_is_no_fusion_of_that_base_is_refused(screen: Workspace) -> None:
    knn(screen, "knn", LOO)
    fuse(screen, "fused", "llm train", "knn")
    fuse(screen, "other base", "knn", "llm train")
    with unchanged(screen):
        for base, fused, weights, message in (
            ("llm train", "fused", (0.6, 0.5), "DE: a recovered percentile lies"),
            ("llm train", "fused", (0.5, 0.7), "DIR: a recovered percentile lies"),
            (
                "llm train",
                "fused",
                (0.0, 0.5),
                "w_de: got 0.0, expected a number, more than 0, at most 1",
            ),
            ("llm test", "fused", (0.5, 0.5), "llm test and fused: not on the same rows"),
            ("knn", "other base", (0.5, 0.5), r"knn: \d+ of \d+ rows are uncovered"),
            ("llm train", "nobody", (0.5, 0.5), "run 'nobody'"),
        ):
            with pytest.raises(InputError, match=message):
                save_recovered(screen, base, fused, weights, "back")


# --- runs of chosen rows, and other contents ----------------------------------------------------------------------------


def launched(
    workspace: Workspace, method: str, name: str, rows: str = "", **options: object
) -> Run:
    """A run that is worked on in this process until it ends."""
    return launch.start(workspace, RunRequest(method, options=options, rows=rows, name=name))


@pytest.mark.soak
def test_a_knn_of_some_rows_gives_them_the_same_predictions(screen: Workspace) -> None:
    knn(screen, "whole", FOLDS)
    some = launched(
        screen,
        "knn",
        "some",
        "sample=9,seed=1;split=train",
        spaces="near",
        protocol="folds",
        folds=3,
        seed=1,
    )
    assert some.done == 9
    part = rows_of(screen, "some")
    np.testing.assert_array_equal(
        probabilities(part), probabilities(rows_of(screen, "whole").loc[part.index])
    )


def knn_spec(workspace: Workspace, **more: object) -> RunSpec:
    options = {"spaces": "near", "protocol": "test", **more}
    return launch.resolve(workspace, RunRequest("knn", options=options, rows="split=test"))


@pytest.mark.soak
def test_a_worker_refuses_another_space_than_planned(workspace: Workspace, world: Screen) -> None:
    planned = knn_spec(workspace)
    run_control.start(workspace, planned, "engine", ExecutionSettings(), begin=lambda *_: None)
    other_vectors(workspace, world)
    run = run_control.resume(workspace, "engine", begin=run_control.work_on)
    assert (run.status, run.done) == ("stopped", 0)
    now = knn_spec(workspace).sources["near"]
    assert run.cause == (
        f"gene spaces: near {now[:10]}, expected near {planned.sources['near'][:10]} as planned; start a new run"
    )
    spaces.delete(workspace, "near")
    assert run_control.resume(workspace, "engine", begin=run_control.work_on).cause.startswith(
        "space 'near': not in this workspace"
    )


@pytest.mark.soak
def test_a_run_of_a_worker_is_replaced_when_no_worker_is_on_it(screen: Workspace) -> None:
    """Its journal goes with it; while a worker beats, both stay."""
    knn(screen, "knn")
    engine = launched(screen, "knn", "taken", "split=test", spaces="near", protocol="test", k=3)
    folder = screen.run_folder(engine.id)
    folder.done.unlink()
    write_heartbeat(folder, Heartbeat("running", 6, Counts(), begun_at=0.0))
    with unchanged(screen):
        with pytest.raises(StateError, match=f"run {engine.id}: a worker is on it"):
            save_knn(screen, dataset_of(screen), KnnSettings(("near",), LOO), "taken", replace=True)
        with pytest.raises(StateError, match="a worker is on it"):
            save_fusion(
                screen,
                FusionSettings("llm test", ("knn",), (0.5,), (0.5,)),
                "taken",
                replace=True,
            )
    assert folder.exists
    folder.heartbeat.unlink()
    with pytest.raises(StateError, match="exists with another specification"):
        save_knn(screen, dataset_of(screen), KnnSettings(("near",), LOO), "taken")
    assert folder.exists
    saved = save_knn(screen, dataset_of(screen), KnnSettings(("near",), LOO), "taken", replace=True)
    assert not folder.path.exists()
    with screen.store.read() as db:
        assert [run.id for run in runs.list_all(db) if run.name == "taken"] == [saved.id]
        assert db.execute(
            "SELECT count(*) FROM prediction WHERE run = ?", [engine.id]
        ).fetchall() == [(0,)]

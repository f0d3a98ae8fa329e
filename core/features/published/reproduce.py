"""Published numbers, computed again from a workspace's files with the functions of the product.

`expectations.toml` lists the numbers, and the files that they were measured on. A function below
computes each kind of number: it gets the files and the number's own entries in the list (`wanted`).
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np

from core.base.errors import DeskError, MissingPackage, NotFound
from core.features.leakage.shared_symbols import SymbolTables, compare_splits
from core.features.neighbours import spaces as space_actions
from core.features.published.result import Reproduced, Reproduction
from core.runs.workspace import Workspace
from core.scoring import run_scores, standing
from core.scoring.debate_audit import load_audit
from core.stats import bootstrap, power
from core.stats.arrays import Floats
from core.stats.auroc import auroc
from core.stats.count_controls import score_count_controls
from core.stats.official_score import point_score
from core.stats.ranks import round_for_ranks
from core.stats.scores_and_labels import (
    Scores,
    outcome_of,
    scores_from_probabilities,
    submitted_parts,
    tasks,
)
from core.stats.within_axis import score_within
from core.store import Cursor, imports, pairs, predictions, spaces
from core.transfer import fusion, knn, protocols, run_cells, similarity
from core.transfer.fusion import Component
from core.transfer.protocols import EvaluationProtocol
from core.transfer.row_index import RowIndex

LIST = tomllib.loads(Path(__file__).with_name("expectations.toml").read_text("utf-8"))
_LOO, _AXES = EvaluationProtocol("loo"), ("de", "dir")
_PARTS = ("prediction_up", "prediction_down")
Wanted = Mapping[str, Any]
Computed = float | tuple[float, str]  # ours, or with a note


class NotHere(Exception):
    """A number cannot be computed in this workspace; the message says what is missing."""


def choose_numbers(only: str | None) -> tuple[Reproduced, ...]:
    """Return the numbers whose name starts with `only` or matches it, not computed; all for None.

    Raise NotFound without a match.
    """
    numbers = []
    for group in LIST["groups"]:
        for entry in group["numbers"]:
            wanted, needs = {**group, **entry}, (*group["needs"], *entry.get("needs", ()))
            name, told = (
                f"{group['name']}.{entry['name']}",
                (group["title"], wanted["source"], wanted["published"]),
            )
            numbers.append(Reproduced(name, *told, wanted.get("tolerance", 0.0), needs, wanted))
    chosen = tuple(
        n for n in numbers if not only or n.name.startswith(only) or fnmatchcase(n.name, only)
    )
    if not chosen:
        groups = ", ".join(group["name"] for group in LIST["groups"])
        expected = f"expected a name, its beginning ({groups}) or a pattern"
        raise NotFound(f"published numbers {only!r}: unknown; {expected}")
    return chosen


@dataclass(frozen=True, slots=True, eq=False)
class Files:
    """The published files of a workspace. cuts: of the folds, in a mean over them. What is read or
    computed of one of these records is kept for as long as the process lives."""

    workspace: Workspace
    cuts: int = 4


def reproduce(number: Reproduced, files: Files) -> Reproduced:
    """Compute a number without saving anything; what is missing becomes the reason for None."""
    try:
        for key in number.needs:
            find(files, key)
        if "missing" in number.wanted:
            return replace(number, why=number.wanted["missing"])
        computed = globals()[number.wanted["compute"]](files, number.wanted)
    except (NotHere, DeskError) as error:
        return replace(number, why=str(error))
    ours, note = computed if isinstance(computed, tuple) else (computed, "")
    if math.isnan(ours):
        return replace(number, why="it is not defined for the rows in this workspace")
    number = replace(number, ours=float(ours), note=note or None)
    unexplained = "not explained: the same files and the same definition"
    return number if number.agrees else replace(number, why=note or unexplained)


@cache
def find(files: Files, key: str) -> tuple[str, str]:
    """Return the id of a file's dataset or run, or a pack's name, and the file's SHA-256.

    Raise NotHere if no file with this content was imported.
    """
    listed = LIST["sources"][key]
    with files.workspace.store.read() as db:
        if listed["kind"] == "pack":
            here: dict[str | None, str | None] = {
                pack.sha256: pack.name for pack in spaces.list_packs(db)
            }
        else:
            records = filter(None, (imports.by_content(db, sha) for sha in listed["sha256"]))
            here = {
                each.sha256: each.run if listed["kind"] == "run" else each.dataset
                for each in records
            }
    for sha in listed["sha256"]:
        if found := here.get(sha):
            return found, sha
    raise NotHere(f"{listed['file']} is not in this workspace; try: {listed['get']}")


@cache
def load(files: Files, key: str, read: Callable[[Cursor, str], Any]) -> Any:
    """Return what `read` reads of a file's dataset or run."""
    with files.workspace.store.read() as db:
        return read(db, find(files, key)[0])


def _scored(files: Files, key: str = "pool") -> run_scores.RunRows:
    return cast(run_scores.RunRows, load(files, key, run_scores.load_scored_rows))


@cache
def _index(files: Files) -> RowIndex:
    return RowIndex.of_frame(load(files, "train", pairs.frame))


@cache
def _space(files: Files, name: str) -> similarity.Space:
    """Return a space over the challenge's symbols. Raise MissingPackage without its encoder."""
    listed = LIST["spaces"][name]
    pack, sha256 = find(files, listed["pack"])
    spec = {"pack": pack, "pack_sha256": sha256, **listed["options"]}
    space = space_actions.build(files.workspace, listed["kind"], spec, listed["kind"])
    return similarity.space_over(space, _index(files).symbols)


def challenge_files(files: Files, wanted: Wanted) -> Computed:
    """Return a count of one split (split.what), or of what both share."""
    (split, _, what), frame = wanted["name"].partition("."), load(files, "train", pairs.frame)
    if split == "shared":
        return sum(len(getattr(pair, what)) for pair in compare_splits(frame, SymbolTables()))
    rows = frame[frame["split"] == split]
    counts = {
        "rows": len(rows),
        "perts": rows["pert"].nunique(),
        "genes": rows["gene"].nunique(),
        "both_roles": len({*rows["pert"]} & {*rows["gene"]}),
        "other_ids": (rows["pair_id"] != rows["pert"] + "_" + rows["gene"]).sum(),
        "repeated_ids": rows["pair_id"].duplicated().sum(),
    }
    return int(counts[what] if what in counts else (rows["label"] == what).sum())


def labelled_pool(files: Files, wanted: Wanted) -> Computed:
    """Return rows, rows.LABEL, llm.AXIS, or within_gene.AXIS and within_pert.AXIS (by pairs)."""
    rows, (what, _, which) = _scored(files), wanted["name"].partition(".")
    if what == "rows":
        return len(rows) if not which else int((rows.labels == which).sum())
    if what == "llm":
        return run_scores.score_run(rows).whole.parts[which.upper()].value
    within = score_within(rows.arrays, "gene" if what == "within_gene" else "pert")
    return (within.de if which == "de" else within.dir).by_pairs.value


@cache
def _pool(files: Files) -> tuple[Any, Any, Component]:
    """Return the pool's labels, codes and model."""
    frame, index = _scored(files).frame, _index(files)
    ids, flags = frame["pair_id"].tolist(), frame["flags"].tolist()
    positions = index.positions_of(ids)
    llm = fusion.component_of("llm", ids, ids, frame["p_de"], frame["p_up_given_de"], flags)
    return index.labels[positions], index.rows.take(positions), llm


@cache
def _pool_priors(
    files: Files, space: str, centre: bool, protocol: EvaluationProtocol
) -> knn.Priors:
    """Return the kNN's priors of the pool's rows, from all labelled rows of the challenge."""
    rows, known, settings = (
        _pool(files)[1],
        _index(files).known,
        protocols.SimilaritySettings(centre=centre),
    )
    return protocols.predict_priors(protocol, rows, known, [_space(files, space)], settings).priors


def _fuse(base: Component, other: Component, w_dir: float = 0.5) -> Any:
    return fusion.fuse(fusion.percentiles_of([base, other]), fusion.weights_of([0.5], [w_dir]))


def _fused_pool(files: Files, space: str, centre: bool, w_dir: float = 0.5) -> Scores:
    priors = _pool_priors(files, space, centre, _LOO)
    return cast(
        Scores, _fuse(_pool(files)[2], Component("knn", priors.de, priors.up), w_dir).scores()
    )


def pool_fusion(files: Files, wanted: Wanted) -> Computed:
    """Return a score of the kNN (over the rows with a prior) or of the fusion at weight 0.5."""
    space, centre, labels = wanted["space"], wanted.get("centre", False), _pool(files)[0]
    if wanted["arm"] == "fused":
        score = point_score(labels, _fused_pool(files, space, centre))
    else:
        priors = _pool_priors(files, space, centre, _LOO)
        known = priors.covered
        score = point_score(
            labels[known], scores_from_probabilities(priors.de[known], priors.up[known])
        )
    return getattr(score, wanted["axis"]), LIST["spaces"][space]["note"]


def pool_cells(files: Files, wanted: Wanted) -> Computed:
    """Return the mean over cuts of the model's score, or the fusion's, inside the cells."""
    (labels, rows, llm), values = _pool(files), []
    for protocol in (EvaluationProtocol("folds", 5, seed) for seed in range(files.cuts)):
        priors = _pool_priors(files, wanted["space"], wanted.get("centre", False), protocol)
        cells = protocols.cells_of(
            protocol, rows, protocols.parts_of(protocol, rows, _index(files).known.rows)
        )
        live = fusion.live_fusion(
            labels, rows, [llm, Component("knn", priors.de, priors.up)], cells=cells
        )
        axis = getattr(live.score_at(fusion.weights_of([0.5], [0.5])), wanted["axis"])
        values.append((axis.before if wanted["arm"] == "llm" else axis.after).value)
    return _mean_of_cuts(np.array(values))


def _mean_of_cuts(values: Floats) -> tuple[float, str]:
    return (
        float(values.mean()),
        (
            f"different cuts of the folds: ours is the mean of {len(values)}, from"
            f" {values.min():.3f} to {values.max():.3f}"
        ),
    )


def knn_table(files: Files, wanted: Wanted) -> Computed:
    """Return a kNN's coverage of all labelled rows, or its score (loo, folds) where it has a
    prior."""
    found = _knn_scores(
        files, wanted["space"], wanted.get("centre", False), wanted["column"] == "folds"
    )
    if wanted["column"] == "folds":
        return _mean_of_cuts(found.values[:, _AXES.index(wanted["axis"])])
    value = (
        found.coverage
        if wanted["column"] == "coverage"
        else getattr(found.covered, wanted["axis"]).value
    )
    return value, LIST["spaces"][wanted["space"]]["note"]


@cache
def _knn_scores(files: Files, space: str, centre: bool, in_folds: bool) -> Any:
    known, labels = _index(files).known, _index(files).labels[_index(files).known_positions]
    settings = protocols.SimilaritySettings(centre=centre)
    inputs = protocols.KnnInputs(known.rows, known, (_space(files, space),), settings)
    if not in_folds:
        return run_cells.evaluate(labels, inputs.queries, protocols.predict_knn(_LOO, inputs))
    return run_cells.score_cuts(
        labels, inputs.queries, run_cells.predict_cuts(inputs, seeds=range(files.cuts))
    ).covered


_W_DIR = {"scgpt_fusion": 0.5, "scgpt_fusion_wdir07": 0.7, "knn_fusion": 0.5}  # W_DE is 0.5 in all


def recovered_component(files: Files, wanted: Wanted) -> Computed:
    """Return a number of the component of a published fusion, recovered from it and its base."""
    what, name = wanted["what"], wanted.get("fusion", "scgpt_fusion")
    if what.startswith("agreement"):
        a, b = (_recover(files, each) for each in ("scgpt_fusion", "scgpt_fusion_wdir07"))
        return float(
            np.nanmax(np.abs(a.p_de - b.p_de if what.endswith(".de") else a.p_up - b.p_up))
        )
    if what == "farthest":
        return float(
            max(distance for each in _W_DIR for distance in _recover(files, each).farthest)
        )
    base, sums, other = _base(files), np.add(*_parts(files, "sharp")), _recover(files, name)
    if what in ("values", "values_of_sums"):
        return len(np.unique(round_for_ranks(base.p_de) if what == "values" else sums))
    if what == "uncovered":
        return int(other.uncovered.sum())
    if what == "fused_again":
        arms = Component("base", base.p_de, base.p_up), Component("other", other.p_de, other.p_up)
        again = _fuse(*arms, _W_DIR[name])
        parts = zip(submitted_parts(again.p_de, again.p_up), _parts(files, name), strict=True)
        return max(float(np.abs(np.round(ours, 6) - theirs).max()) for ours, theirs in parts)
    # The error of ranking the base by the sums of its file's decimals, which break its ties.
    unrounded, component = (
        np.unique(sums, return_inverse=True)[1],
        Component("other", other.p_de, other.p_de),
    )
    a, b = (
        _fuse(Component("base", p, p), component).p_de for p in (base.p_de, unrounded.astype(float))
    )
    return float(np.abs(a - b).max())


def _base(files: Files) -> Scores:
    rows = load(files, "sharp", predictions.frame)
    return scores_from_probabilities(rows["p_de"], rows["p_up_given_de"])


def _parts(files: Files, key: str) -> tuple[Floats, ...]:
    """Return prediction_up and prediction_down of a file, in the order of the debate's rows."""
    order, rows = (load(files, each, predictions.frame) for each in ("sharp", key))
    rows = rows.set_index("pair_id").loc[order["pair_id"]]
    return tuple(rows[part].to_numpy() for part in _PARTS)


@cache
def _recover(files: Files, name: str) -> fusion.RecoveredComponent:
    up, down = _parts(files, name)
    fused = scores_from_probabilities(up + down, up / (up + down))
    return fusion.decompose_fusion(_base(files), fused, 0.5, _W_DIR[name])


def debate(files: Files, wanted: Wanted) -> Computed:
    """Return ROLE.FINDING of the briefs (all: of all roles), arguing.N, or a field of
    `DebateAudit`."""
    audit = load(files, "sharp", load_audit)
    what, _, which = wanted["name"].partition(".")
    if what == "arguing":
        return float(audit.rows_by_arguing[int(which)])
    return float(audit.with_total[what][which] or 0 if which else getattr(audit, what))


def no_biology(files: Files, wanted: Wanted) -> Computed:
    """Return a field of `CountControls`, or constant.PROTOCOL.AXIS: a kNN with equal weights."""
    index, what = _index(files), wanted["name"].split(".")
    labels, rows = np.asarray(index.labels[index.known_positions], dtype=object), index.known.rows
    if what[0] != "constant":
        frame = load(files, "train", pairs.frame)
        labelled = frame[frame["label"].notna()]
        columns = (labelled[name].to_numpy() for name in ("label", "pert", "gene"))
        value = getattr(score_count_controls(*columns), what[0])
        return float(getattr(value, "value", value))
    protocol, same = (
        _LOO if what[1] == "loo" else EvaluationProtocol("folds"),
        similarity.ConstantSimilarity(),
    )
    parts = protocols.parts_of(protocol, rows)
    priors: knn.Priors = knn.knn_priors(
        rows, index.known, knn.Similarities(same, same), parts=parts
    )
    scores = run_cells.scores_with_stand_ins(priors, priors)
    return float(
        getattr(point_score(labels, scores, protocols.cells_of(protocol, rows, parts)), what[2])
    )


def standard_error(files: Files, wanted: Wanted) -> Computed:
    """Return the bootstrap's standard error of the mean of DE and DIR on the pool."""
    if wanted["name"] == "public":
        unlabelled = int(load(files, "train", pairs.frame)["label"].isna().sum())
        noise = standing.public_noise([run_scores.score_run(_scored(files))], unlabelled)
        return math.nan if noise is None else noise.se
    means = _resampled(files)
    combined = bootstrap.combine_axes(means["row"], means["pert"], means["gene"])
    return {**means, "combined": combined}[
        wanted["name"]
    ].se, "the bootstrap's own noise is about 1% of a standard error"


@cache
def _resampled(files: Files) -> dict[str, Any]:
    rows, units = (
        _scored(files),
        {"row": "row", "pert": "pert", "gene": "gene", "product": "two-way"},
    )
    plans: dict[str, Any] = {
        name: bootstrap.ResamplingPlan(cast(Any, unit), 1) for name, unit in units.items()
    }
    given = rows.labels, rows.scores
    return {
        name: bootstrap.bootstrap_score(*given, plan, rows.pert, rows.gene).mean
        for name, plan in plans.items()
    }


_SWAPPED_FOR = {"minilm": "text", "text": "string"}


def public_change(files: Files, wanted: Wanted) -> Computed:
    """Return the smallest difference seen with 80% power on a public half, or a published step's z.

    Ours is of the first space whose encoder is installed: MiniLM (centred) or TF-IDF.
    """
    try:
        _space(files, space := "minilm")
    except MissingPackage:
        space = "text"
    centre = space == "minilm"
    fused, (labels, rows, _) = _fused_pool(files, space, centre), _pool(files)
    before, after = {
        "knn": lambda: (_scored(files).scores, fused),
        "embedding": lambda: (fused, _fused_pool(files, _SWAPPED_FOR[space], False)),
        "weight": lambda: (fused, _fused_pool(files, space, centre, 0.7)),
    }[wanted["change"]]()
    # samples as large as the half
    plan = bootstrap.ResamplingPlan("row", 1, size=904 / int(outcome_of(labels).labelled.sum()))
    se = bootstrap.bootstrap_difference(labels, before, after, plan, rows.pert, rows.gene).mean.se
    value = wanted["step"] / se if "step" in wanted else power.detectable_difference(se)
    return value, f"{wanted['note']}; ours is of a kNN in the space {space}"


def graph_features(files: Files, wanted: Wanted) -> Computed:
    """Return the share of pairs that a regulatory graph connects, or the AUROC of a feature of it.

    The features were imported as external scores, which are ranks: most pairs are not connected and
    share the rank of 0, the most common one. dir: among the connected rows.
    """
    rows, what = _scored(files, wanted["feature"]), wanted["what"]
    de, direction = tasks(rows.arrays.outcome, rows.scores)
    task = direction if what == "dir" or wanted.get("directed") else de
    values, counts = np.unique(task.values[task.rows], return_counts=True)
    connected = task.rows & (task.values != values[counts.argmax()])
    if what == "connected":
        n, of = int(connected.sum()), int(task.rows.sum())
        return n / of, f"{n:,} of {of:,} rows are connected"
    chosen = connected if what == "dir" else task.rows
    return auroc(task.positive[chosen], task.values[chosen])


def entries(files: Files, wanted: Wanted) -> Computed:
    """Return the share of rows that a published entry changed, by more than its files' rounding."""
    values, step = [], {"p_de": 2e-4, "p_up": 2e-3}[wanted["axis"]]
    for key in ("entry", "base"):
        rows = load(files, wanted[key], predictions.frame).set_index("pair_id")
        total = rows["prediction_up"] + rows["prediction_down"]
        values.append(total if wanted["axis"] == "p_de" else rows["prediction_up"] / total)
    return float((np.abs(values[0] - values[1].reindex(values[0].index)) > step).mean())


def reproduce_numbers(
    workspace: Workspace,
    only: str | None = None,
    begin: Callable[[str], object] = lambda _name: None,
    cuts: int = 4,
) -> Reproduction:
    """Return the published numbers that `only` chooses beside ours, computed one after the other;
    nothing is saved.

    begin: called with the name of each. cuts: of the folds; the published means are of four.
    """

    files, results = Files(workspace, cuts), []
    for number in choose_numbers(only):
        begin(number.name)
        results.append(reproduce(number, files))
    return Reproduction(tuple(results))

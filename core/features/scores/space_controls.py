"""kNN without biology beside any run: equal weights, random embeddings, and a space whose symbols
are scrambled.

Each is a kNN over the labels that the run's rows may see under doubly-disjoint folds, scored inside
their cells, where it has 0.5 but for chance. A protocol with another value is biased, like
leave-one-out: on the challenge, equal weights have DE 0.558 and DIR 0.061 there.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from core.base.errors import NotFound, StateError
from core.runs.component_loader import load_spaces
from core.runs.workspace import Workspace
from core.scoring.controls import FINGERPRINT_CUT, Control, control_of_values, score_control
from core.scoring.run_scores import RunRows
from core.stats.arrays import Floats
from core.stats.official_score import point_values
from core.stats.scores_and_labels import outcome_of
from core.stats.within_axis import score_within
from core.store import datasets, spaces
from core.store.runs import Run
from core.transfer.cut_priors import prepare_cuts
from core.transfer.knn import Similarities, knn_priors
from core.transfer.knn_settings import read_knn_settings
from core.transfer.protocols import EvaluationProtocol, KnnInputs, SimilaritySettings, parts_of
from core.transfer.row_index import RowIndex
from core.transfer.run_cells import describe_scoring, folds_among, scores_with_stand_ins
from core.transfer.similarity import ConstantSimilarity, Space

ANISOTROPIES = (0.0, 0.5, 0.9, 0.99)  # mean cosines between the vectors of two genes
COLUMNS, DRAWS, SEED = 64, 9, 0


def control_spaces(rows: RunRows, space: Space | None) -> tuple[Control, ...]:
    """Return the kNN without biology on a run's rows. space: whose symbols are scrambled; None if
    the workspace has none.

    None of them is a rival of the run. Their `about` says inside which cells they are scored.
    """
    cut = (folds_among(rows.protocols) or [FINGERPRINT_CUT])[0]
    permuted = []
    for anisotropy in ANISOTROPIES:
        rng = np.random.default_rng([SEED, round(1000 * anisotropy)])
        drawn = random_space(len(rows.index.symbols), anisotropy, rng)
        name = f"random embedding, mean cosine {anisotropy:g}"
        about = f"random vectors with mean cosine {anisotropy:g}"
        permuted.append(_permuted_control(rows, cut, drawn, name, about))
    if space is not None:
        name = f"scrambled symbols, {space.name}"
        about = f"the space {space.name} with its symbols scrambled"
        permuted.append(_permuted_control(rows, cut, space, name, about))
    return (
        _equal_weights(rows, cut),
        *permuted,
        _equal_weights(rows, EvaluationProtocol("loo")),
    )


def space_to_scramble(workspace: Workspace, run: Run, index: RowIndex) -> Space | None:
    """Return the space whose symbols are scrambled beside a run: its first that was built without
    labels, else the oldest such.

    None without one, or if its file is missing.
    """
    own = read_knn_settings(run.spec).spaces if run.method == "knn" else ()
    with workspace.store.read() as db:
        free = [space.name for space in spaces.list_all(db) if space.built_from is None]
        dataset = datasets.find(db, run.dataset)
    chosen = next((name for name in (*own, *free) if name in free), None)
    if chosen is None:
        return None
    try:
        return load_spaces(workspace, index, dataset, [chosen])[0]
    except (NotFound, StateError):
        return None


def random_space(n_symbols: int, anisotropy: float, rng: np.random.Generator) -> Space:
    """Return a space of random vectors with about this mean cosine between two of them, in [0,
    1)."""
    shared = rng.standard_normal(COLUMNS)
    own: Floats = rng.standard_normal((n_symbols, COLUMNS))
    return Space("random", np.sqrt(anisotropy) * shared + np.sqrt(1 - anisotropy) * own)


def _equal_weights(rows: RunRows, protocol: EvaluationProtocol) -> Control:
    known = rows.index.known
    queries = rows.index.rows.take(rows.positions)
    same = Similarities(ConstantSimilarity(), ConstantSimilarity())
    priors = knn_priors(queries, known, same, parts=parts_of(protocol, queries, known.rows))
    way = describe_scoring((protocol,))
    is_folds = protocol.kind == "folds"
    about = f"a kNN with equal weights for all genes, {way}" + (
        "" if is_folds else ": the bias of this protocol"
    )
    name = f"equal weights, {'folds' if is_folds else way}"
    found = score_control(rows, name, about, scores_with_stand_ins(priors, priors), (protocol,))
    return replace(found, permuted=True)


def _permuted_control(
    rows: RunRows, cut: EvaluationProtocol, space: Space, name: str, what: str
) -> Control:
    """Return the scores of a kNN over a space whose vectors are exchanged among its symbols. what:
    describes the space."""
    knn = KnnInputs(
        rows.index.rows.take(rows.positions), rows.index.known, (space,), SimilaritySettings()
    )
    keys = np.random.default_rng(SEED).random((DRAWS, len(rows.index.symbols)))
    [prepared] = prepare_cuts(knn, cut.k, [cut.seed])
    scores = (
        scores_with_stand_ins(priors, prepared.base_rates)
        for priors in prepared.predict(list(keys))
    )
    values = np.array([_values_of(rows.with_scores(each).under((cut,))) for each in scores])
    about = f"a kNN over {what}, {describe_scoring((cut,))}: mean and 95% range of {DRAWS}"
    return control_of_values(name, about, values, len(rows), "gene")


def _values_of(rows: RunRows) -> tuple[float, float]:
    """Return DE and DIR as the controls of a run are scored; of a dataset that is judged by genes
    the macro AUROC by gene."""
    if rows.headline == "mean":
        return point_values(outcome_of(rows.labels), rows.scores, rows.cells)
    within = score_within(rows.arrays, "gene")
    return within.de.macro.value, within.dir.macro.value

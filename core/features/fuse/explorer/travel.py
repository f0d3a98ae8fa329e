"""A fusion in a file: the content of its explorer, with or without the labels of its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from core.base import environment
from core.base.environment import describe
from core.base.errors import InputError, NotFound, StateError
from core.features.fuse import weight_grid
from core.features.fuse.explorer.content import (
    CutNoise,
    ExplorerData,
    FusionRows,
    Mix,
    make_content,
    prepare_fusion,
    prepare_noise,
    starters,
    state_of_file,
)
from core.methods.cut_scores import fusion_protocols
from core.methods.fusion_components import ComponentLoader, describe_rest
from core.methods.fusion_settings import read_fusion_settings
from core.runs.component_loader import WorkspaceComponents
from core.runs.workspace import Workspace
from core.scoring.compare_runs import add_cut_noise
from core.scoring.run_scores import RunRows, load_scored_rows
from core.scoring.sentences import interval_text, scored_text
from core.store import datasets, runs
from core.store.runs import Run
from core.transfer.fusion import LiveFusion
from core.transfer.run_cells import describe_scoring

SAVED = "as saved"  # the mix that a fusion was saved with


@dataclass(frozen=True, slots=True, eq=False)
class Fusion:
    """A fusion that is to travel. scored: how, in words. rest: of
    `describe_rest`."""

    title: str
    live: LiveFusion
    rows: FusionRows
    noise: CutNoise | None
    scored: str
    rest: str


def saved_fusion(
    run: Run, loader: ComponentLoader, load_rows: Callable[[str], RunRows], dataset: str
) -> tuple[Fusion, Mix]:
    """Return a saved fusion with its weights, against its base; load_rows: a run as it is scored,
    by its id; dataset: its name.

    Raise InputError for a run that is not a fusion, NotFound or StateError if its parts were
    deleted or changed.
    """
    if run.method != "fusion":
        raise InputError(f"{run.name}: made by {run.method}; expected a fusion")
    settings = read_fusion_settings(run.spec["options"])
    source = loader.run(settings.base)
    base, frame = load_rows(source.id), loader.predictions(source.id)
    live = prepare_fusion(loader, settings, base)
    noise: CutNoise | None = None
    with suppress(NotFound, StateError):  # unknown if a required space was deleted or changed
        noise = prepare_noise(loader, settings, base)
    parts = [part for part in settings.others if isinstance(part, str)]
    names = [source.name, *(loader.run(part).name for part in parts)]
    ids, perts, genes = (frame[name].tolist() for name in ("pair_id", "pert", "gene"))
    fusion = Fusion(
        f"{dataset} · {run.name}",
        live,
        FusionRows(ids, perts, genes, names, parts, names[0]),
        noise,
        describe_scoring(fusion_protocols(settings, loader)),
        describe_rest(settings),
    )
    return fusion, Mix(SAVED, settings.w_de, settings.w_dir)


def data_of_file(
    fusion: Fusion, mix: Mix, mixes: Sequence[Mix] = (), *, labels: bool
) -> ExplorerData:
    """Return the content of a fusion's file: it starts at `mix`; its buttons are this, `mixes` and
    the standard ones.

    labels: include each row's label. Without labels, the file only moves ranks, and shows the score
    of `mix`.
    """
    live, n = fusion.live, len(mix.de)
    buttons = [mix, *mixes, *starters(n)]
    buttons = [
        each
        for i, each in enumerate(buttons)
        if each.name not in {other.name for other in buttons[:i]}
    ]
    is_scored = bool(live.outcome.labelled.any())
    caution = ""
    # how optimistic the best weights of the plane are that the file begins with
    if is_scored and labels:
        caution = weight_grid.weight_optimism(
            live, weight_grid.move_one(0, mix.de, mix.up)
        ).sentence
    elif is_scored:
        caution = _score_in_words(fusion, mix)
    scored = [scored_text(fusion.scored)] if is_scored else []
    note = " · ".join([f"{len(live.rows):,} rows", *scored, f"PerturbDesk {describe()}"])
    sentences = {"caution": caution, "rest": fusion.rest, "note": note}
    content = make_content(live, fusion.rows, labels=labels)
    return ExplorerData(
        fusion.title,
        content,
        state_of_file(mix, buttons, fusion.noise if labels and is_scored else None, sentences),
    )


def _score_in_words(fusion: Fusion, mix: Mix) -> str:
    """Return the score of a mix, for a file without labels."""
    score = fusion.live.score_at(mix.weights())
    if fusion.noise is not None:
        score = add_cut_noise(score, fusion.noise.before, fusion.noise.scores_at(mix.weights()))
    after, change = (
        interval_text(score.mean.after.shown),
        interval_text(score.mean.change.shown, signed=True),
    )
    return (
        f"On its author's labels, which are not in the file, {mix.name}: mean {after}, {change}"
        f" against {fusion.rows.baseline}."
    )


def fusion_data(workspace: Workspace, run: str, *, labels: bool) -> ExplorerData:
    """Return the explorer's content for a saved fusion (name or id). labels: include the labels of
    its rows.

    Raise NotFound, InputError and StateError as `saved_fusion` does.
    """

    def load_rows(key: str) -> RunRows:
        with workspace.store.read() as db:
            return load_scored_rows(db, key)

    with workspace.store.read() as db:
        found = runs.find_predicting(db, run)
        dataset = datasets.find(db, found.dataset)
    fusion, mix = saved_fusion(
        found, WorkspaceComponents(workspace, dataset), load_rows, dataset.name
    )
    return data_of_file(fusion, mix, labels=labels)


def find_explorer(workspace: Workspace, run: Run, labels: bool) -> ExplorerData | None:
    """Return the explorer of a run for a report; None for a run that is not a fusion, or whose
    parts were deleted or changed."""
    if run.method != "fusion":
        return None
    try:
        return fusion_data(workspace, run.id, labels=labels)
    except (NotFound, StateError):
        return None


def fusion_file(workspace: Workspace, run: str, *, labels: bool) -> bytes:
    """Return the file. Raise StateError also if it contains an API key."""
    content = fusion_data(workspace, run, labels=labels).file()
    environment.refuse_secrets(workspace.settings, f"fusion {run}", [content])
    return content

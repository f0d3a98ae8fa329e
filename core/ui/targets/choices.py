"""Targets: the choice of ranking, evaluation and metric; links contain all three."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from core.actions import target_ranking
from core.actions.workspace import Workspace
from core.fields.record import make, option_of
from core.target_ranking.evaluate import EvaluationRequest
from core.target_ranking.request import RankingTableRequest
from core.target_ranking.results import ALL_GENES, RankingFolder, SavedEvaluation
from core.target_ranking.splits import Split
from core.target_ranking.tables import METRICS
from core.ui.shared.linked import choose_one
from core.ui.shared.option_controls import choose_setting, show_more

_RANKING = option_of(RankingTableRequest, "ranking")
MASK_WORDS, UNIT_WORDS = (option_of(EvaluationRequest, name).titles for name in ("mask", "unit"))


@dataclass(frozen=True, slots=True, eq=False)
class ShownRanking:
    """The ranking that the page shows. saved: None before the first evaluation; split: None before the cells are read."""

    folder: RankingFolder
    split: Split | None
    saved: SavedEvaluation | None
    metric: str


def choose(workspace: Workspace) -> ShownRanking | None:
    """Show the choices in one row; None if there is no target ranking."""
    known = {folder.name: folder for folder in target_ranking.list_all(workspace)}
    if not known:
        return None
    left, middle, right = st.columns([0.3, 0.4, 0.3])
    first = next(iter(known))
    name = choose_setting(left.selectbox, _RANKING, "", {name: name for name in known}, first) or first
    asked = make(RankingTableRequest, {**show_more(RankingTableRequest, "", ("ranking",)), "ranking": name})
    folder = known[asked.choice.ranking or first]
    saved = {each.key: each for each in reversed(folder.evaluations())}
    split = folder.split() if (folder.path / "data.json").is_file() else None
    if not saved:
        return ShownRanking(folder, split, None, next(iter(METRICS)))
    titles = {key: evaluation_title(each) for key, each in saved.items()}
    key = choose_one(middle.selectbox, "evaluation", "Evaluation", titles, next(iter(titles))) or next(iter(titles))
    metric = choose_one(right.selectbox, "metric", "Metric", METRICS, "recall") or "recall"
    return ShownRanking(folder, split, saved[key], metric)


def evaluation_title(saved: SavedEvaluation) -> str:
    """Return a title that distinguishes an evaluation from others of the same ranking."""
    pool = "" if saved.facts["pool"] == ALL_GENES else f", within {saved.facts['pool']}"
    seed = f", seed {saved.facts['seed']}" if saved.facts["seed"] else ""
    return f"{UNIT_WORDS[saved.facts['unit']]}, {MASK_WORDS[saved.facts['mask']]}{pool}{seed}"

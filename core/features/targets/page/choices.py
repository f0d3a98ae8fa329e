"""Targets: the choice of ranking, evaluation and metric; links contain all three."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from core.base.fields.record import option_of
from core.features.targets import actions as target_ranking
from core.features.targets.evaluate import Evaluation
from core.features.targets.request import RankingTableRequest
from core.features.targets.results import RankingFolder
from core.features.targets.tables import METRICS, evaluation_title
from core.runs.workspace import Workspace
from core.ui.linked import choose_one
from core.ui.option_controls import choose_setting

_RANKING = option_of(RankingTableRequest, "ranking")


@dataclass(frozen=True, slots=True, eq=False)
class ShownRanking:
    """The evaluated ranking that the page shows."""

    folder: RankingFolder
    saved: Evaluation
    metric: str


def choose(workspace: Workspace) -> tuple[RankingFolder | None, ShownRanking | None]:
    """Show the choices in one row; return the chosen ranking, if there is one, and what is shown of
    it once it is evaluated."""
    folders = {folder.name: folder for folder in target_ranking.list_all(workspace)}
    if not folders:
        return None, None
    left, middle, right = st.columns([0.3, 0.4, 0.3])
    first = next(iter(folders))
    folder = folders[
        choose_setting(left.selectbox, _RANKING, "", {name: name for name in folders}, first)
        or first
    ]
    evaluations = {saved.key: saved for saved in reversed(folder.evaluations())}
    if not evaluations:
        return folder, None
    titles = {key: evaluation_title(saved.settings) for key, saved in evaluations.items()}
    key = choose_one(
        middle.selectbox, "evaluation", "Evaluation", titles, next(iter(titles))
    ) or next(iter(titles))
    metric = choose_one(right.selectbox, "metric", "Metric", METRICS, "recall") or "recall"
    return folder, ShownRanking(folder, evaluations[key], metric)

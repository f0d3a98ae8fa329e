"""Rounds of a debate."""

from __future__ import annotations

from core.features.experiments.ideas.run_arms import idea_of_option

KIND = idea_of_option(
    "rounds",
    "Rounds of a debate",
    "Do briefs and rebuttals help the judges, or is the dossier enough?",
    option="rounds",
    how="`perturbdesk run debate --rows sample=500 --set rounds=0, then 1 and 2`",
)

"""Runs with several seeds against one."""

from __future__ import annotations

from core.features.experiments.ideas.run_arms import idea_of_option

KIND = idea_of_option(
    "seed_ensembles",
    "Seed ensembles",
    "Is a mean over several seeds better than one seed?",
    option="seeds",
    how="`perturbdesk run debate --rows sample=500, then --set seeds=42,43,44`",
)

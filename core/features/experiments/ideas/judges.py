"""Sharp against plain judges of a debate."""

from __future__ import annotations

from core.features.experiments.ideas.run_arms import idea_of_option

KIND = idea_of_option(
    "judges",
    "Sharp against plain judges",
    "Does it matter how the judges of a debate answer?",
    option="judge",
    how="`perturbdesk run debate --rows sample=500 --set judge=sharp, then another`",
)

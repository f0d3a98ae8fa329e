"""judges: saved runs that differ in the option `judge` alone."""

from __future__ import annotations

from core.experiments.ablations.run_arms import ablation_of_option

ABLATION = ablation_of_option(
    name="judges",
    title="Sharp against plain judges",
    question="Does it matter how the judges of a debate answer?",
    option="judge",
    how="`perturbdesk run debate --rows sample=500 --set judge=sharp, then another`",
)

"""rounds: saved runs that differ in the option `rounds` alone."""

from __future__ import annotations

from core.experiments.ablations.run_arms import ablation_of_option

ABLATION = ablation_of_option(
    name="rounds",
    title="Rounds of a debate",
    question="Do briefs and rebuttals help the judges, or is the dossier enough?",
    option="rounds",
    how="`perturbdesk run debate --rows sample=500 --set rounds=0, then 1 and 2`",
)

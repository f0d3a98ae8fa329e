"""seed_ensembles: saved runs that differ in the option `seeds` alone."""

from __future__ import annotations

from core.experiments.ablations.run_arms import ablation_of_option

ABLATION = ablation_of_option(
    name="seed_ensembles",
    title="Seed ensembles",
    question="Is a mean over several seeds better than one seed?",
    option="seeds",
    how="`perturbdesk run debate --rows sample=500, then --set seeds=42,43,44`",
)

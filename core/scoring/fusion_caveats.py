"""What has to be known of a fusion wherever a score of it is shown."""

from __future__ import annotations

from core.store.runs import Run

RANKED = {
    "population": "Ranked among these rows: a row's number depends on which other rows there are",
    "train": "Ranked against labelled rows: a row's number does not depend on the other rows",
}
CHOSEN = "If its weights were chosen on the rows that score them, the score is too high"
RANK_SCORES = "A fusion's numbers are rank scores, not probabilities"


def fusion_caveats(run: Run) -> tuple[str, ...]:
    """Return the caveats of a fusion's weights and percentiles; none of another run."""
    if run.method != "fusion":
        return ()
    weights = f"{run.name} is a fusion. {CHOSEN}; Fuse says "
    options = run.spec.get("options")
    ranked = (
        [f"{RANKED[options.get('reference', 'population')]}. {RANK_SCORES}."] if options else []
    )
    return (f"{weights}by how much.", *ranked)

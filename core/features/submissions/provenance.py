"""What a run and the runs that it was made from used: tools, models, labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from core import __version__
from core.base.environment import version_in
from core.base.types import EXTERNAL_SCORE, MADE_ELSEWHERE, Flag
from core.evidence.registry import TOOLS, tool_file
from core.features.importing.lineage import Prompts, missing_parents
from core.features.submissions.parsed import RunProvenance
from core.store import Cursor, calls, evidence, predictions
from core.store.predictions import RowFilter
from core.store.runs import Run


def tools_of(db: Cursor, line: Sequence[Run]) -> dict[str, bytes]:
    """Return file name → source code of every evidence tool that the lineage's rows used, as far as
    it still exists."""
    used = {name for run in line for name in evidence.tools(db, run.id)}
    return {f"{name}.py": tool_file(name).read_bytes() for name in TOOLS if name in used}


def provenance_of(db: Cursor, line: Sequence[Run], prompts: Prompts) -> RunProvenance:
    """Return the facts about the first run of a lineage that rules check."""
    requests = [request for run in line for request in calls.request_settings(db, run.id)]
    models = [*(run.model for run in line), *(model for model, _, _ in requests)]
    sampling = {
        (heat, top_p) for _, heat, top_p in requests if heat is not None and top_p is not None
    }
    fewer_seeds = RowFilter(flags=(Flag.FEWER_SEEDS,))
    return RunProvenance(
        run=line[0].name,
        prompt=prompts.text,
        prompt_fault=prompts.fault,
        sampling=tuple(sorted(sampling)),
        models=tuple(dict.fromkeys(model for model in models if model)),
        learned=tuple(_learned_parts(line)),
        shots=max((int(run.spec.get("options", {}).get("shots", 0)) for run in line), default=0),
        fewer_seeds=tuple(
            dict.fromkeys(
                key for run in line for key in predictions.find_pair_ids(db, run.id, fewer_seeds)
            )
        ),
        changed="; ".join(_code_changes(line, list(missing_parents(db, line).values()))),
    )


def _learned_parts(line: Sequence[Run]) -> Iterator[str]:
    for run in line:
        if run.method == "knn":
            spaces = (
                run.spec.get("spaces") or run.spec.get("options", {}).get("spaces") or "unknown"
            )
            named = spaces if isinstance(spaces, str) else ", ".join(spaces)
            yield (
                f"{run.name}, a kNN over the training labels (gene spaces: {named}; state how they"
                " were made)"
            )
        elif run.method == "recovered":
            yield f"{run.name}, recovered from a fusion, whose training data are unknown"
        elif run.method in MADE_ELSEWHERE:
            what = "an external score" if run.method == EXTERNAL_SCORE else "predicted expression"
            yield f"{run.name}, {what}, whose training data are unknown"


def _code_changes(line: Sequence[Run], missing: Sequence[str]) -> Iterator[str]:
    if missing:
        yield f"made from {', '.join(missing)}, not in this workspace, so its origin is unknown"
    old = sorted({version_in(run.code_version) for run in line} - {__version__})
    if old:
        yield f"made by version {', '.join(old)}; prompt and tools are those of {__version__}"

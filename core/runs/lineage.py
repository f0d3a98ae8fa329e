"""A run, the runs that it was made from, and what they used: prompts, tools, models, labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from core import __version__
from core.base.errors import DeskError
from core.base.hashes import sha256_of
from core.base.types import EXTERNAL_SCORE, MADE_ELSEWHERE, Flag
from core.base.version import version_in
from core.evidence.registry import TOOLS, tool_file
from core.features.importing import bundle_tables
from core.features.predicting import prompt_files
from core.features.predicting.prompt_texts import write_prompts
from core.features.submissions.parsed import RunProvenance
from core.methods.base import method_named
from core.methods.prompt_only import reask_text
from core.runs.workspace import Workspace
from core.store import Cursor, calls, evidence, predictions
from core.store.predictions import RowFilter
from core.store.runs import Run


@dataclass(frozen=True, slots=True)
class Prompts:
    """The prompt texts behind a run. text: the present texts, None if there are none or they may
    differ from those that ran.

    recorded: the hashes in the runs' specifications. fault: why the texts may differ, else "".
    """

    text: str | None
    recorded: tuple[str, ...] = ()
    fault: str = ""


def missing_parents(db: Cursor, line: Sequence[Run]) -> dict[str, str]:
    """Return id → name of each parent that is not in the workspace; the id again if no bundle names
    it."""
    here = {run.id for run in line}
    missing = dict.fromkeys(parent for run in line for parent in run.parents if parent not in here)
    names = bundle_tables.run_names(db) if missing else {}
    return {parent: names.get(parent, parent) for parent in missing}


def prompts_of(workspace: Workspace, db: Cursor, line: Sequence[Run]) -> Prompts:
    """Return the prompt texts of a lineage's runs, each once, as far as today's texts can be shown
    to be those that ran.

    Of a run that asked the prompts of a file these are the prompts of its rows, as `write_prompts`
    writes them.
    """
    texts: dict[str, str] = {}
    faults, recorded = [], []
    for run in line:
        prompts_sha256 = run.spec.get("prompts_sha256")
        if not prompts_sha256:
            continue
        recorded.append(str(prompts_sha256))
        try:
            today = method_named(run.method).prompts(run.spec["options"])
            text = _prompts_of_file(workspace, db, run) or today
        except (DeskError, KeyError) as error:
            faults.append(f"the prompt of {run.name} cannot be rebuilt ({error})")
            continue
        if sha256_of(today) != prompts_sha256:
            hashes = f"hash {sha256_of(today)[:10]}, {prompts_sha256[:10]}"
            faults.append(f"the texts of {run.method} have changed since {run.name} ran ({hashes})")
        else:
            texts[text] = run.name
    fault = "; ".join(faults)
    return Prompts("\n\n".join(texts) if texts and not fault else None, tuple(recorded), fault)


def _prompts_of_file(workspace: Workspace, db: Cursor, run: Run) -> str:
    """Return the prompts of a run's rows from its file; "" for a run without one. Raise StateError
    if it is missing."""
    sha256 = run.spec["options"].get("prompts")
    if not sha256:
        return ""
    prompts = prompt_files.read_kept(workspace, str(sha256))
    asked = predictions.find_pair_ids(db, run.id, RowFilter())
    return write_prompts(
        {key: prompts[key] for key in asked if key in prompts}, reask_text(run.spec["options"])
    )


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

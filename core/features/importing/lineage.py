"""A run and the runs that it was made from: which are missing, and the prompts behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.base.errors import DeskError
from core.base.hashes import sha256_of
from core.features.importing import bundle_parts
from core.methods.base import method_named
from core.methods.prompt_only import reask_text
from core.runs import prompt_files
from core.runs.prompt_files import write_prompts
from core.runs.workspace import Workspace
from core.store import Cursor, predictions
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
    names = bundle_parts.run_names(db) if missing else {}
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

"""Finds the run of a specification, and makes room for one of its name."""

from __future__ import annotations

from core.base.errors import StateError
from core.runs.run_state import refuse_live
from core.runs.spec import RunSpec
from core.runs.workspace import Workspace
from core.store import Cursor, changes, imports, runs
from core.store.runs import Run

RUN_HERE = "run here"  # the origin of runs that a worker of this workspace makes


def find_same_run(
    db: Cursor, workspace: Workspace, spec: RunSpec, name: str, *, replace: bool = False
) -> Run | None:
    """Return the run of this specification, of any name; None if there is none.

    Raise StateError if there is none and the name is another run's, unless `replace`; in any case
    if that run is a parent of this one or a worker is on it.
    """
    here = runs.list_all(db, spec.dataset)
    same = next((run for run in here if run.id == spec.key), None)
    named = next((run for run in here if run.name == name), None)
    if same is None and named is not None:
        if named.id in spec.parents:
            raise StateError(
                f"run {name!r}: a parent of the run that would replace it; choose another name"
            )
        if not replace:
            what = f"{_describe_difference(named, spec)}; choose another name, or use --replace"
            raise StateError(f"run {name!r} exists with another specification{what}")
        refuse_live(workspace.run_folder(named.id))
    return same


def _describe_difference(run: Run, spec: RunSpec) -> str:
    """Return ", made by version 1 of knn, which is now 2" if nothing but the method's version
    differs, else ""."""
    version = run.spec.get("version")
    if version == spec.version or dict(run.spec) != {
        "method": spec.method,
        **spec.summary(),
        "version": version,
    }:
        return ""
    return f", made by version {version} of {spec.method}, which is now {spec.version}"


def delete_named_run(db: Cursor, spec: RunSpec, name: str) -> list[str]:
    """Delete the run of this name, if there is one; return its id, for its folder to be removed
    after the transaction."""
    replaced = [run.id for run in runs.list_all(db, spec.dataset) if run.name == name]
    for run in replaced:
        imports.delete_with_run(db, run)
        changes.bump(db, f"run:{run}")
    return replaced

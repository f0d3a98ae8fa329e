"""The names in a workspace that commands take, each kind defined once and completed by the shell."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from core.config import load_settings

if TYPE_CHECKING:
    from core.actions.workspace import Workspace
    from core.fields.option import Option

Complete = Callable[[typer.Context, str], list[str]]


def _complete(list_names: Callable[[Workspace], Iterable[str]], *, several: bool = False, mark: str = ",") -> Complete:
    """Return what lists, for the shell, the names that begin as the word does; none where the store cannot be read.

    several: names with a comma between them, of which the last is completed; a name with a comma cannot stand in such a list.
    mark: what else stands before the name that is completed.
    """

    def complete(context: typer.Context, begun: str) -> list[str]:
        from core.actions.workspace import open_workspace
        from core.errors import DeskError

        before, between, last = begun.rpartition(mark) if several else ("", "", begun)
        try:
            names = list_names(open_workspace(load_settings(context.find_root().params.get("folder"))))
            found = [f"{before}{between}{name}" for name in names if name.startswith(last) and not (several and "," in name)]
        except (DeskError, OSError):
            return []
        return _as_words(found)

    return complete


def _as_words(found: list[str]) -> list[str]:
    """Return what is found as the shell inserts it."""
    return list(map(_as_word, found)) if _is_typed_bare() else found


def _is_typed_bare() -> bool:
    """Return whether bash completes a word without a quote before it: there it inserts a name as it gets it, spaces and all."""
    is_bash = any(name.endswith("_COMPLETE") and value == "complete_bash" for name, value in os.environ.items())
    words = os.environ.get("COMP_WORDS", "").splitlines() or [""]
    typed = words[min(int(os.environ.get("COMP_CWORD", "0") or 0), len(words) - 1)]
    return is_bash and not typed.startswith(("'", '"'))


def _as_word(name: str) -> str:
    """Return a name as one word of a shell."""
    return re.sub(r"([^\w@%+=:,./-])", r"\\\1", name)


def _runs(workspace: Workspace) -> list[str]:
    from core.store import runs

    with workspace.store.read() as db:
        return [run.name for run in runs.list_all(db)]


def _datasets(workspace: Workspace) -> list[str]:
    from core.store import datasets

    with workspace.store.read() as db:
        return [dataset.name for dataset in datasets.list_all(db)]


def _spaces(workspace: Workspace) -> list[str]:
    from core.store import spaces

    with workspace.store.read() as db:
        return [space.name for space in spaces.list_all(db)]


def _packs(workspace: Workspace) -> list[str]:
    from core.store import spaces

    with workspace.store.read() as db:
        return [pack.name for pack in spaces.list_packs(db)]


def _imports(workspace: Workspace) -> list[str]:
    from core.store import imports

    with workspace.store.read() as db:
        return list(dict.fromkeys(imports.list_imports(db)["file"]))


def _methods(_: Workspace) -> Iterable[str]:
    from core.methods.base import methods

    return methods()


def _jobs(workspace: Workspace) -> list[str]:
    from core.actions import job_control

    return [name for job in job_control.list_jobs(workspace) for name in (job.name, job.title)]


def _reports(workspace: Workspace) -> Iterable[str]:
    from core.actions import reports

    return reports.saved_reports(workspace)


def _walks(workspace: Workspace) -> list[str]:
    from core.store import walks

    with workspace.store.read() as db:
        return list(dict.fromkeys(name for _, name, _ in walks.list_all(db)))  # several datasets may have one of a name


def _rubrics(workspace: Workspace) -> list[str]:
    from core.actions import rubrics

    return [rubric.name for rubric in rubrics.list_all(workspace)]


def _hypotheses(workspace: Workspace) -> list[str]:
    from core.store import hypotheses

    with workspace.store.read() as db:
        return list(dict.fromkeys(entry.name for entry in hypotheses.list_all(db)))


def _experiment_kinds(_: Workspace) -> list[str]:
    from core.features.experiments.registry import kinds

    return list(kinds())


def _experiments(workspace: Workspace) -> list[str]:
    from core.features.experiments import engine

    return [saved.name for saved in engine.list_saved(workspace)]


def _rankings(workspace: Workspace) -> list[str]:
    from core.actions import target_ranking

    return [ranking.name for ranking in target_ranking.list_all(workspace)]


complete_run = _complete(_runs)
complete_runs = _complete(_runs, several=True)
complete_dataset = _complete(_datasets)
complete_space = _complete(_spaces)
complete_spaces = _complete(_spaces, several=True)
complete_pack = _complete(_packs)
complete_import = _complete(_imports)
complete_method = _complete(_methods)
complete_job = _complete(_jobs)
complete_report = _complete(_reports)
complete_walk = _complete(_walks)
complete_rubric = _complete(_rubrics)
complete_rubrics = _complete(_rubrics, several=True)
complete_hypothesis = _complete(_hypotheses)
complete_experiment_kind = _complete(_experiment_kinds)
complete_experiment = _complete(_experiments)
complete_ranking = _complete(_rankings)

_complete_reference = _complete(_runs, several=True, mark="=")

RunName = Annotated[str, typer.Argument(metavar="RUN", help="A run's name or id.", autocompletion=complete_run)]
DatasetName = Annotated[
    str | None,
    typer.Option("--dataset", help="By default the only one that is not the demo.", autocompletion=complete_dataset),
]
JobName = Annotated[
    str,
    typer.Argument(
        metavar="JOB", help="A name or id of `jobs list`, with its kind if several have it.", autocompletion=complete_job
    ),
]
RubricName = Annotated[
    str,
    typer.Argument(metavar="NAME", help="A rubric's name, as `rubric list` prints it.", autocompletion=complete_rubric),
]


def _complete_choice(option: Option) -> Complete:
    """Return what lists the choices that begin as the word does; of several, the last one is completed."""

    def complete(_: typer.Context, begun: str) -> list[str]:
        before, comma, last = begun.rpartition(",") if option.several else ("", "", begun)
        return _as_words([f"{before}{comma}{choice}" for choice in option.named_choices if choice.startswith(last)])

    return complete


def complete_option(option: Option) -> Complete | None:
    """Return what completes a declared setting that has choices or names what a workspace holds; None of another."""
    if option.choices:
        return _complete_choice(option)
    of_names = {
        **{"dataset": complete_dataset, "run": complete_run, "method": complete_method, "pack": complete_pack},
        "ranking": complete_ranking,
    }
    of_kinds = {"run": complete_run, "runs": complete_runs, "spaces": complete_spaces, "references": _complete_reference}
    return of_kinds.get(option.kind) or (of_names.get(option.name) if option.kind == "text" else None)

"""The names in a workspace that commands take, each kind defined once and completed by the
shell."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core.base.config import load_settings
from core.base.feature import Reference, resolve

if TYPE_CHECKING:
    from core.base.fields.setting import Option
    from core.runs.workspace import Workspace

Complete = Callable[[typer.Context, str], list[str]]
ListNames = Callable[["Workspace"], Iterable[Any]]  # names, or records that have one


def complete(list_names: ListNames, *, several: bool = False, mark: str = ",") -> Complete:
    """Return what lists, for the shell, the names that begin as the word does; none where the store
    cannot be read.

    several: names with a comma between them, of which the last is completed; a name with a comma
    cannot stand in such a list. mark: what else stands before the name that is completed.
    """

    def complete_word(context: typer.Context, begun: str) -> list[str]:
        from core.base.errors import DeskError
        from core.runs.workspace import open_workspace

        before, between, last = begun.rpartition(mark) if several else ("", "", begun)
        try:
            listed = list_names(
                open_workspace(load_settings(context.find_root().params.get("folder")))
            )
            names = dict.fromkeys(str(getattr(each, "name", each)) for each in listed)
            found = [
                f"{before}{between}{name}"
                for name in names
                if name.startswith(last) and not (several and "," in name)
            ]
        except (DeskError, OSError):
            return []
        return _as_words(found)

    return complete_word


def _as_words(found: list[str]) -> list[str]:
    """Return what is found as the shell inserts it: as one word each."""
    return (
        [re.sub(r"([^\w@%+=:,./-])", r"\\\1", name) for name in found]
        if _is_typed_bare()
        else found
    )


def _is_typed_bare() -> bool:
    """Return whether bash completes a word without a quote before it: there it inserts a name as it
    gets it, spaces and all."""
    is_bash = any(
        name.endswith("_COMPLETE") and value == "complete_bash"
        for name, value in os.environ.items()
    )
    words = os.environ.get("COMP_WORDS", "").splitlines() or [""]
    typed = words[min(int(os.environ.get("COMP_CWORD", "0") or 0), len(words) - 1)]
    return is_bash and not typed.startswith(("'", '"'))


def stored(source: Reference, names_of: Callable[[Any], Iterable[Any]] = list) -> ListNames:
    """Return what lists what a function of the store lists. source: imported when it is called."""

    def list_names(workspace: Workspace) -> Iterable[Any]:
        with workspace.store.read() as db:
            return names_of(resolve(source)(db))

    return list_names


def _jobs(workspace: Workspace) -> list[str]:
    from core.runs.jobs import control

    return [name for job in control.list_jobs(workspace) for name in (job.name, job.title)]


_RUNS, _SPACES = stored("core.store.runs:list_all"), stored("core.store.spaces:list_all")
complete_run, complete_runs = complete(_RUNS), complete(_RUNS, several=True)
complete_dataset = complete(stored("core.store.datasets:list_all"))
complete_space, complete_spaces = complete(_SPACES), complete(_SPACES, several=True)
complete_pack = complete(stored("core.store.spaces:list_packs"))
complete_import = complete(
    stored("core.store.imports:list_imports", lambda imports: imports["file"])
)
complete_job = complete(_jobs)
complete_method = complete(lambda _: resolve("core.methods.base:methods")())
_complete_reference = complete(_RUNS, several=True, mark="=")

RunName = Annotated[
    str, typer.Argument(metavar="RUN", help="A run's name or id.", autocompletion=complete_run)
]
DatasetName = Annotated[
    str | None,
    typer.Option(
        "--dataset",
        help="By default the only one that is not the demo.",
        autocompletion=complete_dataset,
    ),
]
JobName = Annotated[
    str,
    typer.Argument(
        metavar="JOB",
        help="A name or id of `jobs list`, with its kind if several have it.",
        autocompletion=complete_job,
    ),
]


def _complete_choice(option: Option) -> Complete:
    """Return what lists the choices that begin as the word does; of several, the last one is
    completed."""

    def complete(_: typer.Context, begun: str) -> list[str]:
        before, comma, last = begun.rpartition(",") if option.several else ("", "", begun)
        return _as_words(
            [
                f"{before}{comma}{choice}"
                for choice in option.named_choices
                if choice.startswith(last)
            ]
        )

    return complete


def complete_option(option: Option) -> Complete | None:
    """Return what completes a declared setting that has choices or names what a workspace holds;
    None of another."""
    if option.choices:
        return _complete_choice(option)
    if ":" in option.about.names:
        return complete(lambda workspace: resolve(option.about.names)(workspace))
    of_names = {
        "dataset": complete_dataset,
        "run": complete_run,
        "method": complete_method,
        "pack": complete_pack,
    }
    of_named = {"run": complete_run, "runs": complete_runs, "spaces": complete_spaces}
    if option.kind is Mapping:
        return _complete_reference if option.about.names else None
    return of_named.get(option.about.names) or (
        None if option.about.names or option.several else of_names.get(option.name)
    )

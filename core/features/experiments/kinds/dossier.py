"""A run asked again with another dossier: another list of tools, tools added one at a time, or
another place where they look."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from core.base.errors import InputError
from core.base.experiment import Arm, Experiment, Kind
from core.base.fields.setting import setting
from core.features.experiments.kinds.asking import (
    Asking,
    ChangedSettings,
    ask_again,
    compare_changed,
    missing_run,
)
from core.features.experiments.kinds.tools import tools_given
from core.methods.prompts import tools_of
from core.runs.workspace import Workspace

DOSSIER_QUESTION = "What does another dossier do to the predictions?"


@dataclass(frozen=True, slots=True, kw_only=True)
class DossierSettings(ChangedSettings):
    """A run, and what is changed of its dossier."""

    tools: Annotated[
        tuple[str, ...], setting("Another list of tools, in this order.", title="Other tools")
    ] = ()
    add: Annotated[
        tuple[str, ...], setting("Tools to add to the run's, one at a time.", title="Tools to add")
    ] = ()
    sources: Annotated[
        Literal["", "packs", "web", "cache"],
        setting(
            "Where tools look: in packs, in public sources, or in what those answered before.",
            title="Where tools look",
            words={"": "as in the run"},
        ),
    ] = ""


def build_dossier(workspace: Workspace, settings: DossierSettings) -> Experiment:
    """Return the experiment. Raise StateError for a run without tools, InputError for unknown
    tools, or if nothing changes."""
    asking = ask_again(workspace, settings)
    return compare_changed(asking, settings, DOSSIER_QUESTION, _dossier_arms(asking, settings))


def _dossier_arms(asking: Asking, settings: DossierSettings) -> Iterator[Arm]:
    given = tools_given(asking.run)
    if settings.tools and settings.tools != given:
        change = f"tools: {', '.join(given)} → {', '.join(settings.tools)}"
        yield _with_tools(asking, "other tools", change, settings.tools)
    for tool in settings.add:
        if tool in given:
            raise InputError(
                f"add: {tool} is a tool of run {asking.run.name} already, expected another"
            )
        yield _with_tools(asking, f"with {tool}", f"with {tool}", (*given, tool))
    before = asking.request.options.get("sources")
    if settings.sources not in ("", before):
        change = f"sources: {before} → {settings.sources}"
        yield Arm(f"sources {settings.sources}", change, asking.changed(sources=settings.sources))


def _with_tools(asking: Asking, name: str, change: str, tools: tuple[str, ...]) -> Arm:
    listed = ",".join(tools)
    tools_of(listed)  # refuses an unknown tool
    return Arm(name, change, asking.changed(tools=listed))


DOSSIER = Kind("dossier", "Another dossier", DOSSIER_QUESTION, DossierSettings, build_dossier, missing=missing_run)

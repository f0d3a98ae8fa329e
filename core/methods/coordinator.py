"""Track B: a coordinator that asks a biology expert and a data analyst, each an agent with its own
tools, then answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from core.base.fields.setting import setting
from core.base.types import Options, Pair, RowResult
from core.evidence.packs import PackName
from core.evidence.registry import packs_read_by
from core.evidence.tool import Tool
from core.methods.agents import agent_episode as agents
from core.methods.agents.agent_episode import (
    TEXT,
    BoundTool,
    Episode,
    bind_evidence_tool,
    describe_tool,
)
from core.methods.agents.agent_row import agent_prompts, answer_row, consult_colleague
from core.methods.base import Context, RowMethod
from core.methods.conversation import raise_with_calls
from core.methods.prompts import dossier_tools, prompt_text


class Colleague(NamedTuple):
    """An agent that the coordinator can ask: its name and its knowledge."""

    name: str
    about: str


COLLEAGUES = (
    Colleague("biology_expert", "Knows what genes do and with what they interact."),
    Colleague(
        "data_analyst",
        "Knows what changed in the measured pairs of a perturbation or a target gene.",
    ),
)


@dataclass(frozen=True)
class CoordinatorSettings(agents.AgentSettings):
    """The options of the coordinator and the agents that it asks."""

    specialist_steps: Annotated[
        agents.Steps | None,
        setting(
            "The most steps of each agent that it asks; by default as many as its own.",
            missing="as many",
            added=True,
        ),
    ] = None
    biology_expert_tools: Annotated[str, setting("Evidence tools of the biology expert.")] = (
        "gene_info,protein_interactions"
    )
    data_analyst_tools: Annotated[str, setting("Evidence tools of the data analyst.")] = (
        "train_lookup"
    )


class Coordinator:
    """One agent that asks two other agents and answers from their replies."""

    name = "coordinator"
    version = 2
    about = (
        "A coordinator asks a biology expert and a data analyst, and answers from what they say."
        " Both are agents with tools."
    )
    needs_model = True
    settings = CoordinatorSettings

    def calls(self, options: Options) -> float:
        """Return three steps and an answer for each of three agents, or fewer if fewer are allowed;
        the model chooses."""
        own: int = options["max_steps"]
        return sum(
            min(most, 3) + 1
            for most in (own, *[options.get("specialist_steps") or own] * len(COLLEAGUES))
        )

    def prompts(self, options: Options) -> str:
        """Return every text of a prompt. Raise NotFound for an unknown tool, MissingPackage if DSPy
        is not installed."""
        return agent_prompts(options, [_outline(options), *_colleagues(options)])

    def packs_read(self, options: Options) -> tuple[PackName, ...]:
        """Return the names of the packs that the colleagues' tools read."""
        return packs_read_by(tool for who in COLLEAGUES for tool in _tools(options, who))

    async def predict_row(self, pair: Pair, context: Context) -> RowResult:
        """Return the prediction of one row. Raise RowFailed with the calls that were made."""
        episode = Episode(context, pair, "coordinator", "coordinator")
        return await raise_with_calls(episode.conversation, _predict(episode))


METHOD: RowMethod = Coordinator()


def _outline(options: Options) -> agents.PromptOutline:
    return agents.outline_of_answerer(
        options, list(map(_describe_colleague, COLLEAGUES)), prompt_text("agent_coordinator")
    )


def _describe_colleague(who: Colleague) -> agents.ToolDescription:
    """Return how a colleague is described to the coordinator, for which it is a tool."""
    return agents.ToolDescription(
        who.name,
        who.about,
        {"question": {**TEXT, "description": "a question in words, with the genes' symbols"}},
    )


def _tools(options: Options, who: Colleague) -> tuple[Tool, ...]:
    """Return a colleague's tools; none where names are shown alone."""
    return dossier_tools({**options, "tools": options[f"{who.name}_tools"]})


def _colleagues(options: Options) -> list[agents.PromptOutline]:
    tools = [_tools(options, who) for who in COLLEAGUES]
    return [
        agents.PromptOutline(
            prompt_text(f"agent_{who.name}"),
            tuple(map(describe_tool, own)),
            ("question",),
            agents.IN_WORDS,
        )
        for who, own in zip(COLLEAGUES, tools, strict=True)
    ]


async def _predict(episode: Episode) -> RowResult:
    options = episode.context.options
    colleagues = _colleagues(options)
    tools = [
        _bind_colleague(episode, who, outline)
        for who, outline in zip(COLLEAGUES, colleagues, strict=True)
    ]
    return await answer_row(episode, _outline(options), tools, colleagues)


def _bind_colleague(episode: Episode, who: Colleague, outline: agents.PromptOutline) -> BoundTool:
    """Return the tool with which the coordinator asks a colleague."""

    async def act(given: Mapping[str, Any]) -> str:
        own = [bind_evidence_tool(episode, tool) for tool in _tools(episode.context.options, who)]
        return await consult_colleague(
            episode, who.name, outline, own, str(given.get("question", ""))
        )

    return BoundTool(_describe_colleague(who), act)

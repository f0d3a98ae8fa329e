"""Track B: a coordinator that asks a biology expert and a data analyst, each an agent with tools of its own, then answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from core.methods.agents import options as agents
from core.methods.agents.bound import TEXT, Bound, described, evidence_tool
from core.methods.agents.episode import Episode
from core.methods.agents.row import answer_of, consult, prompts_of
from core.methods.base import Context, Option, RowMethod
from core.methods.conversation import collect_failure
from core.methods.prompt_options import tools_of
from core.methods.prompt_texts import text
from core.types import Pair, RowResult


class Colleague(NamedTuple):
    """Who can be asked: a name, what for, and the tools it has by default."""

    name: str
    about: str
    tools: str


COLLEAGUES = (
    Colleague("biology_expert", "Knows what genes do and with what they interact.", "gene_info,protein_interactions"),
    Colleague("data_analyst", "Knows what changed in the measured pairs of a perturbation or a target gene.", "train_lookup"),
)


class Coordinator:
    """One agent that asks two others."""

    name = "coordinator"
    version = 1
    about = (
        "A coordinator asks a biology expert and a data analyst, agents with tools of their own, and answers from what they say."
    )
    needs_model = True
    options: tuple[Option, ...] = (
        *(
            Option(f"{who.name}_tools", "text", who.tools, f"Evidence tools of the {who.name.replace('_', ' ')}.")
            for who in COLLEAGUES
        ),
        *agents.SHARED,
    )

    def calls(self, options: Mapping[str, Any]) -> float:
        """The model decides; three steps and an answer of each agent, where that many are allowed."""
        return 3 * (min(int(options["max_steps"]), 3) + 1)

    def prompts(self, options: Mapping[str, Any]) -> str:
        """Every text of a prompt. Raises NotFound for an unknown tool, MissingPackage without DSPy."""
        return prompts_of(options, [_outline(options), *_colleagues(options)])

    async def predict_row(self, pair: Pair, context: Context) -> RowResult:
        """Raises RowFailed with the calls that were made."""
        episode = Episode(context, pair, "coordinator", "coordinator")
        return await collect_failure(episode.asking, _predict(episode))


METHOD: RowMethod = Coordinator()


def _outline(options: Mapping[str, Any]) -> agents.Outline:
    return agents.of_answerer(options, list(map(_described, COLLEAGUES)), text("agent_coordinator"))


def _described(who: Colleague) -> agents.Described:
    """A colleague as the coordinator is told of one."""
    return agents.Described(
        who.name, who.about, {"question": {**TEXT, "description": "a question in words, with the genes' symbols"}}
    )


def _colleagues(options: Mapping[str, Any]) -> list[agents.Outline]:
    tools = [tools_of(options[f"{who.name}_tools"]) for who in COLLEAGUES]
    return [
        agents.of_colleague(text(f"agent_{who.name}"), list(map(described, own)))
        for who, own in zip(COLLEAGUES, tools, strict=True)
    ]


async def _predict(episode: Episode) -> RowResult:
    options = episode.context.options
    colleagues = _colleagues(options)
    tools = [_bound(episode, who, outline) for who, outline in zip(COLLEAGUES, colleagues, strict=True)]
    return await answer_of(episode, _outline(options), tools, colleagues)


def _bound(episode: Episode, who: Colleague, outline: agents.Outline) -> Bound:
    """The tool with which the coordinator asks a colleague."""

    async def act(given: Mapping[str, Any]) -> str:
        own = [evidence_tool(episode, tool) for tool in tools_of(episode.context.options[f"{who.name}_tools"])]
        return await consult(episode, who.name, outline, own, str(given.get("question", "")))

    return Bound(_described(who), act)

"""Track B: one agent that decides step by step which evidence tool to call, then answers."""

from __future__ import annotations

from dataclasses import dataclass

from core.base.types import Options, Pair, RowResult
from core.evidence.packs import PackName
from core.evidence.registry import packs_read_by
from core.methods.agents import agent_episode as agents
from core.methods.agents.agent_episode import Episode, bind_evidence_tool, describe_tool
from core.methods.agents.agent_row import agent_prompts, answer_row
from core.methods.base import Context, RowMethod
from core.methods.conversation import raise_with_calls
from core.methods.prompts import PACK_TOOLS, Tools, dossier_tools


@dataclass(frozen=True)
class ReactSettings(agents.AgentSettings):
    """The options of an agent with tools."""

    tools: Tools = PACK_TOOLS


class React:
    """One agent that repeats thought, tool call and observation until it finishes."""

    name = "react"
    version = 2
    about = (
        "An agent calls the evidence tools it chooses, one after the other, and answers from what"
        " they say."
    )
    needs_model = True
    settings = ReactSettings

    def calls(self, options: Options) -> float:
        """Return five steps and the answer, or fewer if fewer are allowed; the model chooses."""
        return min(int(options["max_steps"]), 5) + 1

    def prompts(self, options: Options) -> str:
        """Return every text of a prompt. Raise NotFound for an unknown tool, MissingPackage if DSPy
        is not installed."""
        return agent_prompts(options, [_outline(options)])

    def packs_read(self, options: Options) -> tuple[PackName, ...]:
        """Return the names of the packs that the agent's tools read."""
        return packs_read_by(dossier_tools(options))

    async def predict_row(self, pair: Pair, context: Context) -> RowResult:
        """Return the prediction of one row. Raise RowFailed with the calls that were made."""
        episode = Episode(context, pair, "react", "AGENT")
        return await raise_with_calls(episode.conversation, _predict(episode))


METHOD: RowMethod = React()


def _outline(options: Options) -> agents.PromptOutline:
    return agents.outline_of_answerer(
        options, [describe_tool(tool) for tool in dossier_tools(options)]
    )


async def _predict(episode: Episode) -> RowResult:
    options = episode.context.options
    tools = [bind_evidence_tool(episode, tool) for tool in dossier_tools(options)]
    return await answer_row(episode, _outline(options), tools)

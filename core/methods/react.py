"""Track B: one agent that decides step by step which evidence tool to call, then answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.methods.agents import options as agents
from core.methods.agents.bound import evidence_tool
from core.methods.agents.episode import Episode
from core.methods.agents.row import finish, started
from core.methods.ask import kept
from core.methods.base import Context, Option, RowMethod
from core.types import Pair, RowResult

TOOLS = "gene_info,gene_class,base_rates,pathway_neighbours,protein_interactions,train_lookup,regulators,pathways,lps_response"


class React:
    """Thought, tool call, observation, until the agent finishes."""

    name = "react"
    version = 1
    about = "An agent calls the evidence tools it chooses, one after the other, and answers from what they say."
    needs_model = True
    options: tuple[Option, ...] = (Option("tools", "text", TOOLS, "Evidence tools that the agent may call."), *agents.SHARED)

    def calls(self, options: Mapping[str, Any]) -> float:
        """Steps and an answer; how many steps is the model's choice: five, where that many are allowed."""
        return min(int(options["max_steps"]), 5) + 1

    def prompts(self, options: Mapping[str, Any]) -> str:
        """Every text of a prompt. Raises NotFound for an unknown tool, MissingPackage without DSPy."""
        return agents.all_texts(options, agents.tools_of(options["tools"]))

    async def predict_row(self, pair: Pair, context: Context) -> RowResult:
        """Raises RowFailed with the calls that were made."""
        episode = Episode(context, pair, "react", "AGENT")
        return await kept(episode.asking, _predict(episode))


METHOD: RowMethod = React()


async def _predict(episode: Episode) -> RowResult:
    options = episode.context.options
    tools = [evidence_tool(episode, tool) for tool in agents.tools_of(options["tools"])]
    return await finish(episode, await started(episode, agents.instructions(options), tools))

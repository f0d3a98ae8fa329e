"""A scripted server on which one tool's evidence moves the verdicts and all the rest is noise by seed and wording."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from core.features.experiments import engine
from core.features.experiments.engine import SavedExperiment
from core.features.experiments.kinds.shown import ToolsSettings
from core.features.experiments.result import ExperimentResult
from core.runs import launch
from core.runs.request import RunRequest
from core.runs.workspace import Workspace
from tests.fakes import scripted as scripted_server
from tests.fakes.scripted import Script, ScriptedPrompt, find_genes, write_reply

TOOLS = ("gene_class", "base_rates", "train_lookup")  # they need no pack
MOVES = "gene_class"


def answer_moved_by(tool: str, effect: float, noise: float) -> Callable[[ScriptedPrompt], str]:
    """Return a writer of verdicts: a number of the pair's own, up to `noise` more or less for each seed and wording of the
    prompt, and `effect` more where the dossier has a line of the tool. Both in percent."""
    line = f"- {tool.replace('_', ' ')},"

    def write(prompt: ScriptedPrompt) -> str:
        if "<prob>" not in prompt.text:
            return write_reply(prompt)
        digest = hashlib.sha256(repr(find_genes(prompt.text)).encode()).digest()
        own = 20 + 40 * digest[0] / 255
        drawn = noise * (2 * prompt.draw("noise") - 1)
        return f"<prob>{own + drawn + (effect if line in prompt.text else 0):.1f}</prob>"

    return write


@dataclass(frozen=True)
class Asked:
    """An experiment that was carried out, its result, and how many chat requests it took."""

    saved: SavedExperiment
    result: ExperimentResult
    requests: int


def leave_tools_out(workspace: Workspace, rows: str, seed: int, repeats: int = 3) -> Asked:
    """Judges the rows of a screen on a server of this seed, and asks again without each tool."""
    script = Script(seed=seed, answer=answer_moved_by(MOVES, effect=15, noise=8))
    with scripted_server.serving(script) as address:
        options = {"rounds": 0, "tools": ",".join(TOOLS)}
        asked = RunRequest(
            "debate",
            options=options,
            rows=rows,
            name=f"judged {seed}",
            model="scripted",
            endpoint=address,
            seed=seed,
        )
        run = launch.start(workspace, asked)
        assert run.status == "done"
        before = scripted_server.request_counts(address)["/v1/chat/completions"]
        settings = ToolsSettings(run=run.name, repeats=repeats, endpoint=address)
        saved = engine.run(workspace, engine.plan(workspace, "tools", settings))
        after = scripted_server.request_counts(address)["/v1/chat/completions"]
    return Asked(saved, engine.result_of(workspace, saved), after - before)

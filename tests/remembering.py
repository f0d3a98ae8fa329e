"""Two models on a scripted server, one that remembers the answers by the genes' names and one that reads them off the dossier."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from core.features.experiments import engine
from core.features.experiments.kinds.shown import NamesSettings
from core.features.experiments.result import ExperimentResult
from core.features.importing.actions import import_upload
from core.runs import launch
from core.runs.request import RunRequest
from core.runs.workspace import Workspace
from tests.cases import as_csv
from tests.fakes import scripted as scripted_server
from tests.fakes.scripted import Script, ScriptedPrompt, find_genes, write_reply
from tests.worlds import workspace_in

LABELS = ("up", "down", "none")
_ACTIVATED, _REPRESSED = (re.compile(rf"{word} by ([^;.]+)") for word in ("activated", "repressed"))
Answers = Mapping[tuple[str, str], str]


def furnish(folder: Path, perts: int, genes: int) -> tuple[Workspace, Answers]:
    """A workspace with perts · genes labelled rows and a pack of regulation that tells each label: a factor activates what goes
    down without it. Returns the labels by (perturbation, gene), too."""
    workspace = workspace_in(folder)
    labels = {
        (f"Kof{i}", f"Mes{j}"): LABELS[_digest(i, j) % 3]
        for i in range(perts)
        for j in range(genes)
    }
    signs = {
        f"{pert}|{gene}": 1 if label == "down" else -1
        for (pert, gene), label in labels.items()
        if label != "none"
    }
    rows = [(f"{pert}_{gene}", pert, gene, label) for (pert, gene), label in labels.items()]
    pack = {"meta": {"source": "made up"}, "pairs": signs}
    for name, content in (
        ("train.csv", as_csv(["id", "pert", "gene", "label"], rows)),
        ("regulation.json", json.dumps(pack).encode()),
    ):
        found = import_upload(workspace, content, name)
        assert found.kind != "failed", found
    return workspace, labels


def _digest(*parts: object) -> int:
    return hashlib.sha256(repr(parts).encode()).digest()[0]


Answer = Callable[[ScriptedPrompt], str]


def remembers(labels: Answers) -> Answer:
    """A model that knows labels by the genes' names, and does not read."""
    return _answering(lambda prompt: labels.get(find_genes(prompt.text), ""))


def reasons() -> Answer:
    """A model that knows no name, and reads in the dossier whether the perturbed gene acts on the measured one."""

    def label(prompt: ScriptedPrompt) -> str:
        pert, _ = find_genes(prompt.text)
        for found, word in ((_ACTIVATED, "down"), (_REPRESSED, "up")):
            if any(
                pert in names[1].replace(",", " ").split() for names in found.finditer(prompt.text)
            ):
                return word
        return "none" if "regulators, " in prompt.text else ""

    return _answering(label)


def _answering(label_of: Answer) -> Answer:
    def write(prompt: ScriptedPrompt) -> str:
        if "<prob>" not in prompt.text:
            return write_reply(prompt)
        label, drawn = label_of(prompt), 60 * (prompt.draw("noise") - 0.5)
        about_effect = "in either direction?" in prompt.text
        yes = ("up", "down") if about_effect else ("up",)
        centre = (
            50
            if not label or (label == "none" and not about_effect)
            else 65
            if label in yes
            else 35
        )
        return f"<prob>{centre + drawn:.1f}</prob>"

    return write


def asked_with_other_names(
    workspace: Workspace,
    answer: Answer,
    rows: str,
    arms: tuple[str, ...] = (),
) -> ExperimentResult:
    """What the experiment shows of a debate without advocates, judged by a model that answers so."""
    with scripted_server.serving(Script(answer=answer)) as address:
        options = {"rounds": 0, "judge": "numeric", "tools": "regulators"}
        asked = RunRequest(
            "debate",
            options=options,
            rows=rows,
            name="judged",
            model="scripted",
            endpoint=address,
            labels="blinded",
        )
        run = launch.start(workspace, asked)
        assert (run.status, run.failed) == ("done", 0)
        settings = NamesSettings(run=run.name, arms=arms, endpoint=address)
        saved = engine.run(workspace, engine.plan(workspace, "names", settings))
    return engine.result_of(workspace, saved)

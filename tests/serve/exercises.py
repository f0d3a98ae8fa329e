"""What the tiny model is taught: answers in the formats that our own prompts ask for, and nothing of biology."""

from __future__ import annotations

import asyncio
import csv
import hashlib
import json
import random
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

from filelock import FileLock

from core.base.config import REPOSITORY
from core.base.fields.record import read_options
from core.base.types import Label, Pair, RowResult
from core.evidence.label_view import LabelView, all_training
from core.evidence.packs import Packs, Source
from core.evidence.registry import gather
from core.evidence.render import dossier
from core.features.demo.actions import simulate
from core.features.importing.actions import import_upload
from core.features.perturbqa import summaries
from core.features.perturbqa.methods import summer
from core.llm.answers import Unread
from core.llm.client import Client
from core.llm.endpoint import Endpoint
from core.llm.messages import Message
from core.methods import debate, prompt_only, react
from core.methods.base import Context, Method
from core.methods.brief_checks import FAULTS
from core.methods.conversation import Messages, ask_letter_again, ask_probability_again
from core.methods.debate import SIDES, DebateCase, Stage
from core.runs.workspace import Workspace
from tests.cases import as_csv
from tests.conftest import SHARED_DATA
from tests.fakes.scripted import MODEL, Script, ScriptedPrompt, serving
from tests.worlds import workspace_in

ROWS = 40  # that it is shown, and asked about
FEW = 200  # labelled rows, where not all of them are in view
SCRIPT = Path(__file__).with_name("tiny.py")
LETTERS = "ABC"
REACT_TOOLS = "base_rates,gene_class"
PROBS = (5, 20, 35, 45, 50, 65, 80, 95)
AGENTS_PROBS = (
    (20, 30),
    (20, 70),
    (80, 30),
    (80, 70),
)  # each of the first number goes with each of the second

# Each names its genes once. Which genes they are is what so small a model does not learn in a minute: it is shown any,
# so that its own briefs, and being told that they name others, are nothing new to it.
LINES = {
    "EFFECT": "{pert} works where {gene} is needed. Its loss reaches the programs that hold the target. "
    "Nothing in the dossier speaks against a link. So the target changes.",
    "NULL": "{pert} and {gene} work apart from each other. Other genes make up for the loss. "
    "Nothing in the dossier links the two. So the target stays where it was.",
    "UP": "{pert} holds {gene} back. Its loss sets off a stress that raises the target. "
    "Nothing in the dossier speaks against it. So the target goes up.",
    "DOWN": "{pert} is needed to keep {gene} on. Its loss takes away the signal that drives the target. "
    "Nothing in the dossier speaks against it. So the target goes down.",
}
SUMMARY = "{gene} works in the nucleus. Its loss disturbs little that is known."
GUIDED = "1. It works in the nucleus.\n2. Little is known.\n3. None is known.\n4. They say little.\n5. So it is said."


def rows_and_view() -> tuple[tuple[Pair, ...], LabelView]:
    """The first unlabelled rows of the challenge and its labelled ones; of the simulated demo where the files are absent."""
    folder = SHARED_DATA / "challenge"
    if folder.is_dir():
        train, test = (_read(folder / f"{split}.csv", split) for split in ("train", "test"))
    else:
        known = simulate().pairs
        train, test = (
            [pair for pair in known if pair.split == split] for split in ("train", "test")
        )
    return tuple(replace(pair, label=None) for pair in test[:ROWS]), all_training(train)


def _read(file: Path, split: str) -> list[Pair]:
    with file.open(encoding="utf-8", newline="") as lines:
        return [
            Pair(
                row["id"],
                row["pert"],
                row["gene"],
                Label(row["label"]) if "label" in row else None,
                split,
            )
            for row in csv.DictReader(lines)
        ]


Pairs = Sequence[Pair]


def context_for(method: Method, pairs: Pairs, view: LabelView, **options: object) -> Context:
    """A context without a client or a model."""
    return Context(tuple(pairs), read_options(method.settings, options), lambda _: view, Packs())


def exercises(pairs: Pairs, view: LabelView) -> Iterator[dict[str, Any]]:
    """Every kind of prompt about the rows, each with answers in its format and with the name of its kind.

    Every second row is asked about with few labelled rows in view, since what tools say then looks different.
    """
    few = all_training(view.rows[:FEW])
    asked = context_for(prompt_only.METHOD, pairs, view, reasoning="no")
    debated = context_for(debate.METHOD, pairs, view).options
    rng = random.Random(0)
    yield from react_exercises(pairs[::2], view)
    yield from react_exercises(pairs[1::2], few)
    yield from summer_exercises(pairs, few)
    for pair, seen in zip(pairs, cycle((view, few)), strict=False):
        letters = [f"<answer>{letter}</answer>" for letter in LETTERS]
        prompt = Message("user", prompt_only.prompt_for(pair, asked))
        yield _exercise("letter", (prompt,), letters)
        again = ask_letter_again(Unread("none of A, B, C is named"), LETTERS)
        yield _exercise(
            "letter",
            (prompt, Message("assistant", "It could be either."), Message("user", again)),
            letters,
        )
        found = dossier(
            asyncio.run(gather(pair, Packs(), seen, debate.tool_names(debated))), pair
        ).text
        yield from _debates(DebateCase(pair.pert, pair.gene, found, "", debated), pairs, rng)


def react_exercises(pairs: Pairs, view: LabelView) -> Iterator[dict[str, Any]]:
    """The conversation of an agent that asks for the base rates, finishes and answers, as DSPy puts it to the model."""
    asked = context_for(react.METHOD, pairs, view, tools=REACT_TOOLS)

    async def held(url: str) -> list[RowResult]:
        async with Client(Endpoint(url)) as client:
            context = replace(asked, client=client, model=MODEL)
            return [await react.METHOD.predict_row(pair, context) for pair in pairs]

    with serving(Script(answer=_as_agent)) as url:
        rows = asyncio.run(held(url))
    for row in rows:
        for call in row.calls:
            said = json.loads(call.request)["messages"]
            answer = json.loads(call.reply)["choices"][0]["message"]["content"]
            last = "p_de" in answer
            answers = [_agents_answer(*probs) for probs in AGENTS_PROBS] if last else [answer]
            yield {"kind": "agent", "messages": said, "answers": answers}


def summer_exercises(pairs: Pairs, view: LabelView) -> Iterator[dict[str, Any]]:
    """Summaries of genes, and answers to guided questions, as the method asks for them."""
    asked = replace(
        context_for(summer.METHOD, pairs, view, seeds="42"), packs=described(pairs, view.rows)
    )

    async def held(url: str) -> list[RowResult]:
        async with Client(Endpoint(url)) as client:
            context = replace(asked, client=client, model=MODEL)
            return [await summer.METHOD.predict_row(pair, context) for pair in pairs]

    rng = random.Random(1)
    with serving(
        Script(answer=lambda prompt: _summary(pairs, random.Random(prompt.text)))
    ) as url:  # they come in any order
        rows = asyncio.run(held(url))
    for call in (call for row in rows for call in row.calls):
        said = json.loads(call.request)["messages"]
        if said[-1]["content"].startswith("Gene:"):
            yield {"kind": "summary", "messages": said, "answers": [_summary(pairs, rng)]}
        elif "could not be read" not in said[-1]["content"]:
            answers = [
                f"{GUIDED}\n<answer>{answer}</answer>" for answer in summaries.SCORES[call.stage]
            ]
            yield {"kind": f"guided {call.stage}", "messages": said, "answers": answers}


def _summary(pairs: Pairs, rng: random.Random) -> str:
    return SUMMARY.format(gene=rng.choice(pairs).gene)


def packs_about(pairs: Pairs, labelled: Pairs) -> dict[str, Any]:
    """The content of two files of knowledge: half of the genes are described, each perturbation has a partner with labels."""
    symbols = list(dict.fromkeys(symbol for pair in pairs for symbol in (pair.pert, pair.gene)))
    descriptions = {
        symbol: f"A protein of the nucleus, number {i}."
        for i, symbol in enumerate(symbols)
        if i % 2 == 0
    }
    edges = [[one.pert, other.pert, 950] for one, other in zip(pairs, labelled, strict=False)]
    return {"described.json": descriptions, "edges.json": edges}


def described(pairs: Pairs, labelled: Pairs) -> Packs:
    """The same knowledge as tools read it."""
    found = packs_about(pairs, labelled)
    sources = {
        name: Source(file, "0" * 64)
        for name, file in (("descriptions", "described.json"), ("edges", "edges.json"))
    }
    edges = [(str(a), str(b), int(score)) for a, b, score in found["edges.json"]]
    return Packs(descriptions=found["described.json"], edges=edges, sources=sources)


def _as_agent(prompt: ScriptedPrompt) -> str:
    if "starting with the field `[[ ## reasoning ## ]]`" in prompt.text:
        return _agents_answer(*AGENTS_PROBS[0])
    step = (
        ("This is enough.", "finish")
        if "[[ ## thought_0 ## ]]" in prompt.text
        else ("How often does anything change?", "base_rates")
    )
    said = {"next_thought": step[0], "next_tool_name": step[1], "next_tool_args": "{}"}
    return _fields(said)


def _agents_answer(p_de: int, p_up: int) -> str:
    return _fields(
        {"reasoning": "The base rates say it.", "p_de": str(p_de), "p_up_given_de": str(p_up)}
    )


def _fields(said: dict[str, str]) -> str:
    return "\n\n".join(
        [*(f"[[ ## {name} ## ]]\n{value}" for name, value in said.items()), "[[ ## completed ## ]]"]
    )


def _debates(case: DebateCase, pairs: Pairs, rng: random.Random) -> Iterator[dict[str, Any]]:
    for stage, sides in SIDES.items():
        for side in sides:
            asked = debate.brief_messages(side, case)
            yield _exercise("brief", asked, [_line(side, pairs, rng)])
            again = Message("user", debate.ask_brief_again(side, case, FAULTS["genes"]))
            rejected = Message("assistant", _line(side, pairs, rng)), again
            yield _exercise("brief again", (*asked, *rejected), [_line(side, pairs, rng)])
        yield _verdict(stage, case, pairs, rng)


def _line(side: str, pairs: Pairs, rng: random.Random) -> str:
    return LINES[side].format(pert=rng.choice(pairs).pert, gene=rng.choice(pairs).gene)


def _verdict(stage: Stage, case: DebateCase, pairs: Pairs, rng: random.Random) -> dict[str, Any]:
    asked = debate.verdict_messages(
        stage, case, [(side, _line(side, pairs, rng)) for side in SIDES[stage]]
    )
    probs = [f"<prob>{prob}</prob>" for prob in PROBS]
    if rng.random() < 0.5:
        return _exercise("verdict", asked, [f"The dossier says little. {prob}" for prob in probs])
    rejected = (
        Message("assistant", "The evidence is mixed."),
        Message("user", ask_probability_again(Unread("no number"))),
    )
    return _exercise("verdict", (*asked, *rejected), probs)


def _exercise(kind: str, messages: Messages, answers: list[str]) -> dict[str, Any]:
    return {
        "kind": kind,
        "messages": [message._asdict() for message in messages],
        "answers": answers,
    }


def tiny_model(python: Path) -> Path:
    """The folder of the model, made with an interpreter that has torch and transformers unless it is there already."""
    pairs, view = rows_and_view()
    symbols = {"symbols": sorted({symbol for pair in pairs for symbol in (pair.pert, pair.gene)})}
    lines = "".join(
        f"{json.dumps(one | symbols, ensure_ascii=False)}\n" for one in exercises(pairs, view)
    )
    key = hashlib.sha256(lines.encode() + SCRIPT.read_bytes()).hexdigest()[:12]
    folder = REPOSITORY / "cache" / "serve" / f"tiny-{key}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):  # two files of tests ask for it at once
        if not folder.is_dir():
            source = folder.with_suffix(".jsonl")
            source.write_text(lines, "utf-8")
            subprocess.run([str(python), str(SCRIPT), str(source), str(folder)], check=True)
    return folder


def workspace_of(folder: Path, train: Pairs, labels: Sequence[str], test: Pairs) -> Workspace:
    """A workspace with labelled rows and rows to predict."""
    workspace = workspace_in(folder)
    labelled = [
        (pair.pair_id, pair.pert, pair.gene, label)
        for pair, label in zip(train, labels, strict=True)
    ]
    others = [(pair.pair_id, pair.pert, pair.gene) for pair in test]
    for header, rows, name in (
        ("id pert gene label", labelled, "train.csv"),
        ("id pert gene", others, "test.csv"),
    ):
        assert import_upload(workspace, as_csv(header.split(), rows), name).kind != "failed"
    return workspace

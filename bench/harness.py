"""Runs of prompt_only over 2,000 rows, one seed, 64 calls at a time, beside the bare loop of the openai package on its
default transport: the same requests but for the seed, answers dropped.

Both ask the same loopback server, which answers in 20 ms; ours goes on to parse, journal, sync and store every row, and
keeps each request and answer. They take turns at going first, and the medians over the rounds count: server and client
share the processors, with each other and with whatever else runs.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from openai import AsyncOpenAI

from bench.measure import Measured, measure_alone
from core.base.config import Settings
from core.features.demo.actions import make_demo
from core.llm.scripted_server import Script, serving
from core.methods.base import method_named
from core.runs import launch, run_control
from core.runs.journal import read_progress
from core.runs.request import RunRequest
from core.runs.workspace import Workspace, open_workspace
from core.store import calls, predictions
from core.store.datasets import DEMO

ROWS, AT_ONCE, DELAY_S = 2_000, 64, 0.02
FORM = {
    "method": "prompt_only",
    "dataset": DEMO,
    "rows": f"split=train;sample={ROWS}",
    "concurrency": AT_ONCE,
}
SEEDS = (42, 43, 44)  # of one round each; another seed makes another run


def run() -> dict[str, Any]:
    """Seconds of both, those of the processor, their ratios round by round, the worker's peak memory in MB, and whether
    journal and store have every row once."""
    with tempfile.TemporaryDirectory() as folder, serving(Script(delay_s=DELAY_S)) as address:
        workspace = open_workspace(Settings(workspace=Path(folder), endpoint=address))
        make_demo(workspace)
        rounds = []
        requests = []
        for i, seed in enumerate(SEEDS):
            made, rows = begin_run(workspace, address, seed)
            goes_first = i % 2 == 1
            reference = measure_alone(bare_loop, address, requests) if goes_first else None
            ours = measure_alone(work, folder, address, made)
            with workspace.store.read() as db:
                stored = len(predictions.frame(db, made))
                requests = [calls.of_row(db, made, key)[0].request for key in rows]
            reference = reference or measure_alone(bare_loop, address, requests)
            journalled = read_progress(workspace.run_folder(made).rows)
            rounds.append(Round(ours, reference, stored, journalled.done, journalled.repeated))
    return {
        "name": "harness",
        "ours_s": median(each.ours.wall_s for each in rounds),
        "reference_s": median(each.reference.wall_s for each in rounds),
        "ratio": median(each.ours.wall_s / each.reference.wall_s for each in rounds),
        "ours_cpu_s": median(each.ours.cpu_s for each in rounds),
        "reference_cpu_s": median(each.reference.cpu_s for each in rounds),
        "cpu_ratio": median(each.ours.cpu_s / each.reference.cpu_s for each in rounds),
        "state": " ".join(sorted({each.ours.result for each in rounds})),
        "rows": ROWS,
        "rounds": len(rounds),
        "answered_reference": min(each.reference.result for each in rounds),
        "complete": all(each[2:] == (ROWS, ROWS, 0) for each in rounds),
        "max_abs_diff": max(abs(each.journalled - each.stored) for each in rounds),
        "ideal_s": ROWS / AT_ONCE * DELAY_S,
        "peak_mb_ours": max(each.ours.peak_mb for each in rounds),
        "peak_mb_reference": max(each.reference.peak_mb for each in rounds),
    }


class Round(NamedTuple):
    """Our run and the bare loop, and how many rows store and journal have, and how many twice."""

    ours: Measured
    reference: Measured
    stored: int
    journalled: int
    repeated: int


def begin_run(workspace: Workspace, address: str, seed: int) -> tuple[str, Sequence[str]]:
    """The id of a run that waits for a worker, and its rows."""
    options = {"seeds": str(seed), "answers": "letters"}
    request = RunRequest(**FORM, options=options, endpoint=address, name=f"harness {seed}")
    settings = launch.execution_settings(workspace, request, method_named(request.method))
    spec = launch.resolve(workspace, request)
    made = run_control.start(workspace, spec, request.name, settings, begin=lambda *_: None)
    return made.id, spec.rows


def work(folder: str, address: str, run: str) -> str:
    """Work on the run in this process until it ends; its state."""
    return run_control.work_on(
        open_workspace(Settings(workspace=Path(folder), endpoint=address)), run
    ).state


def bare_loop(address: str, requests: list[str]) -> int:
    """The same requests by openai's own client, as many at a time; how many were answered."""

    async def ask_all() -> int:
        free = asyncio.Semaphore(AT_ONCE)
        async with AsyncOpenAI(base_url=address, api_key="none", max_retries=0) as client:

            async def ask(body: dict[str, Any]) -> int:
                async with free:
                    answer = await client.chat.completions.create(**body)
                return len(answer.choices)

            return sum(await asyncio.gather(*(ask(json.loads(request)) for request in requests)))

    return asyncio.run(ask_all())

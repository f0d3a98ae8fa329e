"""A run of prompt_only over 2,000 rows, one seed, 64 calls at a time, beside the bare loop: the same requests, answers dropped.

Both ask the same loopback server, which answers in 20 ms, through the same package and transport; ours goes on to parse,
journal, sync and store every row, and keeps each request and answer.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

from openai import AsyncOpenAI

from bench.measure import alone
from core.base.config import Settings
from core.features.demo.actions import make_demo
from core.llm.scripted_server import Script, serving
from core.methods.base import method_named
from core.runs import launch, run_control
from core.runs.journal import read_progress
from core.runs.request import RunRequest
from core.runs.workspace import open_workspace
from core.store import calls, predictions
from core.store.datasets import DEMO

ROWS, AT_ONCE, DELAY_S = 2_000, 64, 0.02
FORM = {
    "method": "prompt_only",
    "dataset": DEMO,
    "rows": f"split=train;sample={ROWS}",
    "concurrency": AT_ONCE,
}
OPTIONS = {"seeds": "42", "answers": "letters"}


def run() -> dict[str, Any]:
    """Seconds of both, the ratio, the worker's peak memory in MB, and whether journal and store have every row once."""
    with tempfile.TemporaryDirectory() as folder, serving(Script(delay_s=DELAY_S)) as address:
        workspace = open_workspace(Settings(workspace=Path(folder), endpoint=address))
        make_demo(workspace)
        request = RunRequest(**FORM, options=OPTIONS, endpoint=address, name="harness")
        settings = launch.execution_settings(workspace, request, method_named(request.method))
        spec = launch.resolve(workspace, request)
        made = run_control.start(workspace, spec, "harness", settings, begin=lambda *_: None)
        state, ours_s, ours_mb = alone(work, folder, address, made.id)
        with workspace.store.read() as db:
            stored = len(predictions.frame(db, made.id))
            requests = [calls.of_row(db, made.id, key)[0].request for key in spec.rows]
        journalled = read_progress(workspace.run_folder(made.id).rows)
        answered, reference_s, reference_mb = alone(bare_loop, address, requests)
    return {
        "name": "harness",
        "ours_s": ours_s,
        "reference_s": reference_s,
        "ratio": ours_s / reference_s,
        "state": state,
        "rows": ROWS,
        "answered_reference": answered,
        "complete": (journalled.done, stored, journalled.repeated) == (ROWS, ROWS, 0),
        "max_abs_diff": abs(journalled.done - stored),
        "ideal_s": ROWS / AT_ONCE * DELAY_S,
        "peak_mb_ours": ours_mb,
        "peak_mb_reference": reference_mb,
    }


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

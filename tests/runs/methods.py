"""Tiny methods, and the worker that knows them: `python -m tests.runs.methods WORKSPACE RUN`."""

from __future__ import annotations

import asyncio
import json
import random
import re
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from core.base.config import load_settings
from core.base.errors import DeskError
from core.base.fields.record import NoSettings
from core.base.types import Call, Evidence, Flag, Pair, Prediction, RowResult, TraceEvent
from core.evidence.packs import PackName
from core.llm.answers import Unread, read_probability
from core.llm.errors import ModelError
from core.llm.logprobs import letter_probabilities
from core.llm.messages import Message, Request
from core.methods.base import Context, Method, RowFailed
from core.runs import run_control
from core.runs.run_folder import start_worker
from core.runs.workspace import Workspace, open_workspace

PROB = "Does knockdown of {pert} change the gene {gene}? Reply with <prob>NN</prob>."
LETTER = "A) up\nB) down\nGiven that knockdown of {pert} changes the gene {gene}, which way? Reply with <answer>letter</answer>."


def constant(pair: Pair, flags: tuple[Flag, ...] = (), **counts: int) -> RowResult:
    """A prediction of 0.2 up, 0.2 down."""
    return RowResult(Prediction(pair.pair_id, 0.2, 0.2, 0.4, 0.5, "trace", flags, **counts))


class OutOfScope(DeskError):
    """A row that a test wants to fail."""


@dataclass
class Base:
    name: str = "plain"
    version: int = 1
    about: str = "for tests"
    needs_model: bool = False
    settings: type = NoSettings

    def calls(self, options: Mapping[str, Any]) -> float:  # noqa: ARG002
        return 2.0 if self.needs_model else 0.0

    def prompts(self, options: Mapping[str, Any]) -> str:  # noqa: ARG002
        return PROB + LETTER if self.needs_model else ""


@dataclass
class Counting(Base):
    """Remembers which rows it was asked for, fails on some, takes a while, and gives rows of 3 × `fat` characters."""

    name: str = "counting"
    fails: frozenset[str] = frozenset()
    error: type[Exception] = OutOfScope
    sleep_s: float = 0.0
    fat: int = 0
    reads: tuple[PackName, ...] = ()
    asked: list[str] = field(default_factory=list)
    most_at_once: int = 0
    at_once: int = 0

    def packs_read(self, options: Mapping[str, Any]) -> tuple[PackName, ...]:  # noqa: ARG002
        return self.reads

    async def predict_row(self, pair: Pair, context: Context) -> RowResult:  # noqa: ARG002
        self.asked.append(pair.pair_id)
        self.at_once += 1
        self.most_at_once = max(self.at_once, self.most_at_once)
        try:
            await asyncio.sleep(self.sleep_s)
        finally:
            self.at_once -= 1
        assert pair.label is None
        if pair.pair_id in self.fails:
            raise self.error(f"{pair.pair_id}: not today")
        return self._fattened(constant(pair)) if self.fat else constant(pair)

    def _fattened(self, row: RowResult) -> RowResult:
        """With three texts of `fat` characters that do not repeat one another."""
        rng = random.Random(row.prediction.pair_id)
        text = [rng.randbytes(self.fat // 2).hex() for _ in range(3)]
        call = Call(row.prediction.pair_id, "de", "JUDGE", text[0], text[1], False, 1, 1.0, 1, 1, 0)
        return replace(row, events=(TraceEvent("de", "JUDGE", "text", text[2]),), calls=(call,))


@dataclass
class Whole(Base):
    """Predicts all rows at once."""

    name: str = "whole"
    sleep_s: float = 0.0
    asked: list[str] = field(default_factory=list)

    def predict_batch(self, pairs: Sequence[Pair], context: Context) -> list[RowResult]:  # noqa: ARG002
        time.sleep(self.sleep_s)
        self.asked += [pair.pair_id for pair in pairs]
        return [constant(pair) for pair in pairs]


class Unreadable(DeskError):
    """An answer that holds none."""


@dataclass
class Asking(Base):
    """Two calls a row: a percentage, then a letter with its log-probabilities. Notes each row that it begins in `began`.

    halt: while this file is there, rows wait after their first call, which they note in it.
    """

    name: str = "asking"
    needs_model: bool = True
    began: Path | None = None
    halt: Path | None = None

    async def predict_row(self, pair: Pair, context: Context) -> RowResult:
        if self.began is not None:
            with self.began.open("a") as file:
                file.write(f"{pair.pair_id}\n")
        calls = []
        try:
            said = await self._ask(pair, context, calls, "de", PROB, None)
            await self._wait_while_halted(pair)
            p_de = read_probability(said[0])
            if isinstance(p_de, Unread):
                raise Unreadable(p_de.reason)
            letter = await self._ask(pair, context, calls, "dir", LETTER, 5)
            found = letter_probabilities(letter[1] or (), ("A", "B"), letter[0])
            if isinstance(found, Unread):
                raise Unreadable(found.reason)
        except DeskError as error:
            raise RowFailed(error, tuple(calls)) from error
        p_up = found.probabilities["A"]
        tokens = sum(call.prompt_tokens + call.completion_tokens for call in calls)
        prompts = sum(call.prompt_tokens for call in calls)
        prediction = Prediction(
            pair.pair_id,
            p_de * p_up,
            p_de * (1 - p_up),
            p_de,
            p_up,
            "trace",
            (),
            tokens,
            prompts,
            1,
        )
        counts = context.view_of(pair).counts
        seen = Evidence(
            "base_rates",
            "all",
            "ok",
            "rows in view",
            None,
            {"n": counts.n, "de": counts.de},
            context.view_of(pair).name,
        )
        events = tuple(
            TraceEvent(
                call.stage,
                "JUDGE",
                "verdict",
                text,
                call.completion_tokens,
                call.latency_ms,
                {"p": p},
            )
            for call, text, p in zip(calls, (said[0], letter[0]), (p_de, p_up), strict=True)
        )
        return RowResult(prediction, events, (seen,), tuple(calls))

    async def _wait_while_halted(self, pair: Pair) -> None:
        if self.halt is not None and self.halt.exists():
            with self.halt.open("a") as file:
                file.write(f"{pair.pair_id}\n")
            while self.halt.exists():
                await asyncio.sleep(0.02)

    async def _ask(
        self,
        pair: Pair,
        context: Context,
        calls: list[Call],
        stage: str,
        prompt: str,
        top: int | None,
    ) -> tuple[str, Any]:
        request = Request(
            context.model,
            (Message("user", prompt.format(pert=pair.pert, gene=pair.gene)),),
            seed=context.seed,
            top_logprobs=top,
            repeat=context.repeat,
        )
        assert context.client is not None
        try:
            reply = await context.client.complete(request)
        except ModelError as error:
            used = error.usage
            numbers = (used.prompt_tokens, used.completion_tokens, used.reasoning_tokens)
            calls.append(
                Call(
                    request.key,
                    stage,
                    "JUDGE",
                    error.request,
                    error.raw,
                    False,
                    used.attempts,
                    used.latency_ms,
                    *numbers,
                    str(error),
                )
            )
            raise
        used = reply.usage
        numbers = (used.prompt_tokens, used.completion_tokens, used.reasoning_tokens)
        calls.append(
            Call(
                request.key,
                stage,
                "JUDGE",
                reply.request,
                reply.raw,
                reply.cached,
                used.attempts,
                used.latency_ms,
                *numbers,
            )
        )
        return reply.content, reply.logprobs


def finder(*methods: Method) -> Any:
    """What finds these methods by their names."""
    known = {method.name: method for method in methods}
    return known.__getitem__


def here(*methods: Method) -> run_control.Begin:
    """Begin a run in this process, with these methods known."""
    return partial(_work_here, method=finder(*methods))


def _work_here(workspace: Workspace, run: str, *, method: Any) -> object:
    return run_control.work_on(workspace, run, method=method)


def apart(workspace: Workspace, run: str, **options: Any) -> int:
    """Begin a run in a worker of its own that knows the methods of this file; `options` are those of `main`."""
    return start_worker(
        workspace.run_folder(run),
        run_control.settings_of_worker(workspace, run),
        worker_command(workspace, run, options),
    )


def worker_command(workspace: Workspace, run: str, options: Mapping[str, Any]) -> tuple[str, ...]:
    """The command line of such a worker."""
    return (
        sys.executable,
        "-m",
        "tests.runs.methods",
        str(workspace.settings.workspace),
        run,
        json.dumps(options),
    )


def main(place: str, run: str, options: str) -> int:
    """Work on a run; options: sleep_s of counting and whole, fat of counting, began and halt of asking, ingest_every_s of the
    worker, and growth, a file for how much more memory this process took than it began with, in MB."""
    given, begun_with = json.loads(options), _memory_mb("VmRSS")
    workspace = open_workspace(load_settings(Path(place)))
    sleep_s = given.get("sleep_s", 0.0)
    files = {name: Path(given[name]) for name in ("began", "halt") if name in given}
    methods = finder(
        Counting(sleep_s=sleep_s, fat=given.get("fat", 0)), Whole(sleep_s=sleep_s), Asking(**files)
    )
    try:
        status = run_control.work_on(
            workspace, run, method=methods, ingest_every_s=given.get("ingest_every_s", 2.0)
        )
    except DeskError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if "growth" in given:
        Path(given["growth"]).write_text(str(_memory_mb("VmHWM") - begun_with))
    return 0 if status.state == "done" else 1


def _memory_mb(what: str) -> float:
    found = re.search(rf"{what}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) / 1024


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

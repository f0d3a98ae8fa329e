"""Asks a run's model which screen its rows are from, with gene names and with codes in their place."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from core.actions import packs
from core.actions.run_control import CACHE
from core.actions.workspace import Workspace
from core.engine.dependencies import load_pairs, open_pool
from core.engine.spec import ExecutionSettings
from core.errors import InputError
from core.evidence.render import dossier
from core.experiments.screen_names import SavedScreen, ScreenAnswer, choose_questions, names_any
from core.llm.client import Client
from core.llm.errors import ModelError
from core.llm.reply_cache import ReplyCache
from core.methods.coded_names import CODED, GeneNaming
from core.methods.screen_question import ShownRow, screen_request, text_of_rows
from core.store import evidence
from core.store.runs import Run


def name_screen(
    workspace: Workspace,
    run: Run,
    rows: Sequence[str],
    known: Mapping[str, tuple[str, ...]],
    settings: ExecutionSettings,
    say: Callable[[str], object],
) -> SavedScreen:
    """Return the answers of a run's model about the screen behind some of its rows; repeated questions are answered from the
    cache.

    rows: from which the questions choose; known: as of `known_descriptors`; settings: how the model is asked; say: takes a line
    about what happens to several servers. A question that gets no answer has its error.
    """
    workspace.refuse_if_read_only("contamination", run.name)
    questions = _questions(workspace, run, rows)
    endpoint, model = settings.endpoint(workspace.settings.server_access), run.model or ""

    async def ask_all() -> list[ScreenAnswer]:
        cache, pool = ReplyCache(workspace.settings.cache / CACHE), open_pool(settings, endpoint, model, say)
        async with Client(endpoint, concurrency=settings.concurrency, cache=cache, servers=pool) as client:
            return list(await asyncio.gather(*(_ask(client, run, known, each) for each in questions)))

    return SavedScreen(known, tuple(asyncio.run(ask_all())))


class _Question(NamedTuple):
    rows: tuple[str, ...]
    is_coded: bool
    shown: str
    error: str = ""  # why names cannot be coded here


def _questions(workspace: Workspace, run: Run, rows: Sequence[str]) -> list[_Question]:
    pairs = load_pairs(workspace.store, run.dataset)
    with workspace.store.read() as db:
        seen = evidence.of_run(db, run.id)
    known = packs.read_packs(workspace, run.spec.get("packs", {}))
    naming = cache(lambda: GeneNaming(CODED, pairs.values(), known))
    questions = []
    for asked in choose_questions(rows):
        shown = [ShownRow(pairs[row], dossier(seen.get(row, ()), pairs[row]).text) for row in asked]
        questions.append(_Question(asked, False, text_of_rows(shown)))
        try:
            questions.append(_Question(asked, True, text_of_rows(shown, naming())))
        except InputError as error:
            questions.append(_Question(asked, True, "", str(error)))
    return questions


async def _ask(client: Client, run: Run, known: Mapping[str, tuple[str, ...]], question: _Question) -> ScreenAnswer:
    rows, is_coded, shown, why = question
    if why:
        return ScreenAnswer(rows, is_coded, error=why)
    told = tuple(name for name, spellings in known.items() if names_any(shown, spellings))
    request = screen_request(shown, len(rows), run.model or "", int(run.spec.get("seed", 0)))
    try:
        reply = await client.complete(client.prepare(request))
    except ModelError as error:
        return ScreenAnswer(rows, is_coded, told, error=f"{type(error).__name__}: {error}")
    return ScreenAnswer(rows, is_coded, told, reply.content)

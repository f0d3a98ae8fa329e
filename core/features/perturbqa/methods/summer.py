"""SUMMER: the model summarises both genes, labelled pairs like this one are looked up, and guided
questions are answered.

After Wu et al., "Contextualizing biological perturbation experiments through language" (ICLR 2025),
who published PerturbQA.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple

from annotated_types import Ge, Le

from core.base.fields.setting import Count, setting
from core.base.types import Flag, Pair, Prediction, RowResult, TraceEvent
from core.evidence.label_view import LabelView
from core.evidence.packs import PackName
from core.evidence.registry import packs_read_by, tool_named
from core.features.perturbqa import summaries as texts
from core.features.perturbqa.retrieval import (
    CLOSE_SCORE,
    DEFAULT_BUDGET,
    Budget,
    LabelledPairs,
    Preference,
    Retrieved,
    graph_of_packs,
    index_pairs,
)
from core.features.perturbqa.summaries import (
    ENTRY_TOOLS,
    EVENT_ROLES,
    INSUFFICIENT,
    RELATION_TOOLS,
    ROLES,
    SCORES,
    STAGE,
    GeneSummary,
    Role,
    Stage,
    summarise,
)
from core.llm.answers import Unread
from core.methods.base import Context, RowMethod
from core.methods.coded_names import ALONE, ShownNames
from core.methods.conversation import (
    FALLBACK,
    CallSpec,
    ConversationMethod,
    Messages,
    RowConversation,
    base_rate,
    event_of,
    gather_all,
    system_tokens,
)
from core.methods.prompts import CellContext, Effort, read_seeds

_SUMMARIES = 4  # calls: two genes, two passes each
_STAGES: Mapping[str, tuple[Stage, ...]] = {"both": ("de", "dir"), "de": ("de",), "dir": ("dir",)}
_NOT_ASKED: Mapping[Stage, Flag] = {"de": Flag.NO_DE, "dir": Flag.NO_DIR}
_MIDDLE = 0.5  # stands in the columns of a question that was not asked, beside its flag
_BUDGETS: Mapping[str, Budget] = {"pert_pairs": "pert", "gene_pairs": "gene", "both_pairs": "both"}
_FOR: Mapping[Stage, str] = {"de": "for the effect", "dir": "for the direction"}


MostPairs = Annotated[int, Ge(0), Le(100)]


@dataclass(frozen=True)
class SummerSettings:
    """The options of SUMMER."""

    task: Annotated[
        Literal["both", "de", "dir"],
        setting("What is asked: effect (de), direction (dir), or both."),
    ] = "both"
    retrieval: Annotated[bool, setting("Whether labelled pairs are looked up and shown.")] = True
    chain_of_thought: Annotated[
        bool, setting("Whether guided questions are answered before the last one.")
    ] = True
    seeds: Annotated[str, setting("Seeds of the samples, which are averaged.")] = "42,43,44"
    pert_pairs: Annotated[
        MostPairs, setting("The most labelled pairs with the same or a close perturbation.")
    ] = DEFAULT_BUDGET
    gene_pairs: Annotated[
        MostPairs, setting("The most labelled pairs with the same or a close gene.")
    ] = DEFAULT_BUDGET
    both_pairs: Annotated[
        MostPairs, setting("The most labelled pairs of a close perturbation and a close gene.")
    ] = DEFAULT_BUDGET
    close_score: Annotated[
        int, Ge(1), Le(1000), setting("The least STRING score at which two genes are close.")
    ] = CLOSE_SCORE
    temperature: Annotated[float, Ge(0), Le(2), setting("Sampling temperature.")] = 0.6
    top_p: Annotated[
        float, Ge(0.01), Le(1), setting("Share of the likeliest tokens that are sampled from.")
    ] = 0.9
    max_tokens: Annotated[
        Count, setting("The longest summary or answer in tokens, reasoning included.")
    ] = 1_024
    effort: Effort = ""
    context: CellContext = "kit"
    names: ShownNames = ""


class Summer(ConversationMethod):
    """Summaries of both genes, labelled pairs like this one, and guided questions answered by
    several samples."""

    name = "summer"
    version = 2
    about = (
        "The model summarises what is known of both genes, sees the most similar labelled pairs and"
        " answers guided questions. The score is the mean of its samples, in which insufficient"
        " evidence counts .5."
    )
    reads_other_organisms = True
    settings = SummerSettings

    def calls(self, options: Mapping[str, Any]) -> float:
        """Return two summaries of each gene and a call for each sample; the cache answers for a
        gene seen before."""
        return _SUMMARIES + len(_STAGES[options["task"]]) * len(read_seeds(options["seeds"]))

    def prompts(self, options: Mapping[str, Any]) -> str:
        """Return every text that a prompt with these options may hold. Raise InputError for
        impossible options."""
        read_seeds(options["seeds"])
        return texts.all_texts(_STAGES[options["task"]], options)

    def packs_read(self, options: Mapping[str, Any]) -> tuple[PackName, ...]:
        """Return the names of the packs that summaries and the network of close genes read; none
        where names are shown alone."""
        if options.get("names") == ALONE:
            return ()
        tools = (*ENTRY_TOOLS, *(tool for of_role in RELATION_TOOLS.values() for tool in of_role))
        return packs_read_by(map(tool_named, tools))

    async def predict_in(
        self, conversation: RowConversation, pair: Pair, context: Context
    ) -> RowResult:
        """Summarise both genes; for each question, look up labelled pairs and average the answers
        of all samples."""
        options = context.options
        summaries = await _summarise_both(conversation, pair, context)
        stages = _STAGES[options["task"]]
        results = await gather_all(
            *(_answer(conversation, stage, pair, summaries, context) for stage in stages)
        )
        by_stage = dict(zip(stages, results, strict=True))
        p_de, p_up = (by_stage[stage].p if stage in by_stage else None for stage in ("de", "dir"))
        de = _MIDDLE if p_de is None else p_de
        up = de * (_MIDDLE if p_up is None else p_up)
        asked = [item for summary in summaries.values() for item in summary.evidence]
        evidence = tuple({(item.tool, item.key): item for item in asked}.values())
        unknown = (
            (Flag.NO_KNOWLEDGE,) if any(not summary.text for summary in summaries.values()) else ()
        )
        not_asked = (flag for stage, flag in _NOT_ASKED.items() if stage not in by_stage)
        prediction = Prediction(
            *(pair.pair_id, up, de - up, de, p_up, "trace"),
            flags=tuple(
                dict.fromkeys(
                    (
                        *unknown,
                        *not_asked,
                        *(flag for result in by_stage.values() for flag in result.flags),
                    )
                )
            ),
            tokens=conversation.tokens,
            prompt_tokens=(
                await system_tokens(context, lambda: [texts.system_prompt(options)])
            ).tokens,
            tool_calls=len(evidence),
        )
        told = [event for summary in summaries.values() for event in summary.events]
        shown = [event for result in results for event in result.retrieved]
        said = [event for result in results for event in result.events]
        return RowResult(prediction, (*told, *shown, *said), evidence, conversation.calls)


METHOD: RowMethod = Summer()


class _Sample(NamedTuple):
    """One sample's answer, a key of SCORES; None if it could not be read even when asked again; and
    its events."""

    answer: str | None
    events: tuple[TraceEvent, ...]


class _StageResult(NamedTuple):
    """The probability of a question over its samples, the events of its retrieval and of its
    samples, and its flags."""

    p: float
    retrieved: tuple[TraceEvent, ...]
    events: tuple[TraceEvent, ...]
    flags: tuple[Flag, ...]


async def _summarise_both(
    conversation: RowConversation, pair: Pair, context: Context
) -> dict[Role, GeneSummary]:
    symbols = (pair.pert, pair.gene)
    found = await gather_all(
        *(
            summarise(
                conversation,
                role,
                symbol,
                context.packs,
                _call(STAGE, EVENT_ROLES[role], context.seed, context),
                context.options,
            )
            for role, symbol in zip(ROLES, symbols, strict=True)
        )
    )
    return dict(zip(ROLES, found, strict=True))


def _call(stage: str, role: str, seed: int, context: Context) -> CallSpec:
    options = context.options
    sampling = {"temperature": options["temperature"], "top_p": options["top_p"]}
    return CallSpec(stage, role, seed, options["max_tokens"], options["effort"], **sampling)


async def _answer(
    conversation: RowConversation,
    stage: Stage,
    pair: Pair,
    summaries: Mapping[Role, GeneSummary],
    context: Context,
) -> _StageResult:
    """Look up labelled pairs for one question and asks it under every seed."""
    view, options = context.view_of(pair), context.options
    retrieves = options["retrieval"] and options.get("names") != ALONE
    pairs = _retrieve(stage, pair, view, context) if retrieves else ()
    retrieved = (_retrieval_event(stage, pairs, view),) if retrieves else ()
    words = {role: summary.text for role, summary in summaries.items()}
    messages = texts.answer_messages(stage, pair, words, pairs, options)
    seeds = read_seeds(options["seeds"])
    samples = await gather_all(
        *(_ask_sample(conversation, stage, messages, seed, context) for seed in seeds)
    )
    # The mean score of the samples that could be read; without any, the base rate, marked as a
    # fallback
    read = [sample.answer for sample in samples if sample.answer is not None]
    p = (
        sum(SCORES[stage][answer] for answer in read) / len(read)
        if read
        else base_rate(view, pair, stage)
    )
    counts = {answer: read.count(answer) for answer in SCORES[stage]}
    said = ", ".join(f"{n} {answer}" for answer, n in counts.items())
    text = (
        f"Mean over {len(read)} of {len(samples)} samples ({said}): {p:.6f}."
        if read
        else (
            f"None of {len(samples)} samples could be read: the base rate {p:.6f} of the labelled"
            " rows in view stands in."
        )
    )
    meta = {
        "p": p,
        "fallback": not read,
        "read": len(read),
        "asked": len(samples),
        "answers": counts,
    }
    verdict = TraceEvent(stage, "MEAN", "verdict", text, 0, meta=meta)
    flags = (
        *((Flag.INSUFFICIENT,) if counts[INSUFFICIENT] else ()),
        *(
            (FALLBACK[stage],)
            if not read
            else (Flag.FEWER_SEEDS,)
            if len(read) < len(samples)
            else ()
        ),
    )
    events = (*(event for sample in samples for event in sample.events), verdict)
    return _StageResult(p, retrieved, events, flags)


def _retrieve(stage: Stage, pair: Pair, view: LabelView, context: Context) -> tuple[Retrieved, ...]:
    """Return the labelled pairs for a question; for the direction only those that went up or
    down."""
    indexes: dict[tuple[LabelView, Stage], LabelledPairs] = context.notes.setdefault(
        "labelled pairs", {}
    )
    if (view, stage) not in indexes:
        if "graph" not in context.notes:
            context.notes["graph"] = graph_of_packs(context.packs, context.options["close_score"])
        indexes[view, stage] = index_pairs(view, context.notes["graph"], directed=stage == "dir")
    budgets = {budget: context.options[option] for option, budget in _BUDGETS.items()}
    return indexes[view, stage].retrieve(pair, budgets, context.seed)


def _retrieval_event(stage: Stage, pairs: Sequence[Retrieved], view: LabelView) -> TraceEvent:
    text = (
        texts.pairs_text(pairs)
        or f"None of the {len(view):,} labelled rows in view shares or neighbours one of the two"
        " genes."
    )
    counts = Counter[Preference](one.preference for one in pairs)
    return TraceEvent(
        "retrieve",
        "LABELLED PAIRS",
        _FOR[stage],
        text,
        0,
        meta={"view": view.name, "pairs": dict(counts)},
    )


async def _ask_sample(
    conversation: RowConversation, stage: Stage, messages: Messages, seed: int, context: Context
) -> _Sample:
    spec = _call(stage, "MODEL", seed, context)
    found = await conversation.read(
        spec, messages, partial(texts.read_answer, stage), partial(texts.ask_answer_again, stage)
    )
    answer = None if isinstance(found.value, Unread) else found.value
    score = None if answer is None else SCORES[stage][answer]
    event = event_of(spec, "answer", found.reply, seed=seed, answer=answer, score=score)
    return _Sample(answer, (*found.rejected, event))

"""Track B: advocates argue one side each over one dossier, and a judge turns their arguments into
probabilities.

Two debates run concurrently for each row: EFFECT against NULL gives P(DE), UP against DOWN gives
P(up | DE). No advocate sees a multiple-choice question. A brief that does not argue for its side is
requested once more, then flagged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal, NamedTuple

from annotated_types import Ge, Le

from core.base.fields.setting import Count, setting
from core.base.types import Evidence, Flag, Options, Pair, Prediction, RowResult, TraceEvent
from core.evidence.packs import PackName
from core.evidence.registry import gather, packs_read_by
from core.evidence.render import dossier
from core.llm.answers import AnswerSchema, Unread, letter_schema, percent_schema
from core.llm.messages import Message, Reply
from core.methods.base import Context, RowMethod
from core.methods.brief_checks import FAULTS, find_faults
from core.methods.coded_names import ShownNames
from core.methods.conversation import (
    FALLBACK,
    CallSpec,
    ConversationMethod,
    Messages,
    ReadAnswer,
    RowConversation,
    ask_letter_again,
    ask_probability_again,
    base_rates,
    event_of,
    gather_all,
    read_letters,
    read_probability,
    system_tokens,
)
from core.methods.prompts import (
    PACK_TOOLS,
    CellContext,
    Effort,
    Literature,
    Shots,
    Sources,
    Structured,
    Tools,
    cell_desc,
    dossier_tools,
    examples,
    fill,
    prompt_text,
    read_seeds,
    with_form,
)

SEEDS_BETWEEN_VERDICTS = 1_000_003  # so that no verdict is asked under the seed of another debate

Stage = Literal["de", "dir"]
Speech = tuple[str, str]  # speaker, text; a speaker is a side, or a side in reply
Speeches = Sequence[Speech]
SIDES: Mapping[Stage, tuple[str, str]] = {"de": ("EFFECT", "NULL"), "dir": ("UP", "DOWN")}
OPPONENT = {"EFFECT": "NULL", "NULL": "EFFECT", "UP": "DOWN", "DOWN": "UP"}
Judge = Literal["sharp", "numeric", "logprob"]
YES, NO = "A", "B"  # of a judge who answers by letter
ANSWERS = (YES, NO)
OwnJudge = Annotated[Judge | None, setting("", missing="as both", added=True)]


@dataclass(frozen=True)
class DebateSettings:
    """The options of debates."""

    rounds: Annotated[
        int,
        Ge(0),
        Le(2),
        setting("0: judges read the dossier alone. 1: briefs. 2: briefs and rebuttals."),
    ] = 1
    judge: Annotated[
        Judge, setting("How judges answer: a number, a sharper number, or log-probabilities.")
    ] = "sharp"
    judge_de: Annotated[
        OwnJudge, setting("How the judge of the effect answers; by default as `judge` says.")
    ] = None
    judge_dir: Annotated[
        OwnJudge, setting("How the judge of the direction answers; by default as `judge` says.")
    ] = None
    advocate_effort: Annotated[
        Effort, setting("Reasoning effort of advocates; empty leaves it to the server.")
    ] = ""
    judge_effort: Annotated[
        Effort, setting("Reasoning effort of judges; empty leaves it to the server.")
    ] = ""
    advocate_tokens: Annotated[
        Count, setting("The longest brief in tokens, reasoning included.")
    ] = 3_000
    judge_tokens: Annotated[
        Count, setting("The longest verdict in tokens, reasoning included.")
    ] = 4_000
    judge_repeats: Annotated[
        int,
        Ge(1),
        Le(20),
        setting("Verdicts asked for on the same briefs, averaged: what the judge alone changes."),
    ] = 1
    tools: Tools = PACK_TOOLS
    seeds: Annotated[
        str, setting("Seeds to hold the debates under, averaged; empty takes the run's.")
    ] = ""
    sources: Sources = "packs"
    literature: Literature = "passage"
    context: CellContext = "kit"
    shots: Shots = 0
    structured: Structured = False
    names: ShownNames = ""


class Debate(ConversationMethod):
    """Debates in up to two rounds (briefs, rebuttals) before a judge; without rounds the judge
    reads the dossier alone."""

    name = "debate"
    version = 2
    about = (
        "Advocates argue EFFECT against NULL and UP against DOWN over one dossier; a judge turns"
        " each debate into a number."
    )
    settings = DebateSettings

    def calls(self, options: Options) -> float:
        """Return the calls of two debates for each seed, each of its verdicts and two calls (briefs
        or rebuttals) per round."""
        rounds: int = options["rounds"]
        return 2 * (_judge_repeats(options) + 2 * rounds) * len(read_seeds(options["seeds"], 0))

    def prompts(self, options: Options) -> str:
        """Return every text that a prompt with these options may hold. Raise InputError or NotFound
        for impossible options."""
        read_seeds(options["seeds"], 0)
        tool_names(options)
        return all_texts(options)

    def packs_read(self, options: Options) -> tuple[PackName, ...]:
        """Return the names of the packs that the dossier's tools read."""
        return packs_read_by(dossier_tools(options))

    async def dossier_of(self, pair: Pair, context: Context) -> tuple[Evidence, ...]:
        """Return what the tools say about a row, or said before."""
        if pair.pair_id in context.dossiers:
            return context.dossiers[pair.pair_id]
        on_answer = context.feed.tool_answered if context.feed else None
        names = tool_names(context.options)
        return await gather(
            pair, context.packs, context.view_of(pair), names, context.web, on_answer
        )

    async def predict_in(
        self, conversation: RowConversation, pair: Pair, context: Context
    ) -> RowResult:
        """Hold the debates of all seeds and averages them."""
        view, options = context.view_of(pair), context.options
        evidence = await self.dossier_of(pair, context)
        shown = examples(pair, view, options["shots"], context.seed)
        case = DebateCase(pair.pert, pair.gene, dossier(evidence, pair).text, shown, options)
        seeds = read_seeds(options["seeds"], context.seed)
        debates = await gather_all(
            *(hold_debate(conversation, stage, case, seed) for stage in SIDES for seed in seeds)
        )
        of_stage = {stage: debates[i * len(seeds) :][: len(seeds)] for i, stage in enumerate(SIDES)}
        return await result_of_debates(conversation, pair, context, evidence, of_stage)


METHOD: RowMethod = Debate()


def tool_names(options: Options) -> tuple[str, ...]:
    """Return the names of the dossier's tools. Raise NotFound for an unknown tool."""
    return tuple(tool.name for tool in dossier_tools(options))


def _judge_repeats(options: Options) -> int:
    """Return how many verdicts a debate has; 1 for the runs of before there was a choice."""
    repeats: int = options.get("judge_repeats", 1)
    return repeats


class DebateResult(NamedTuple):
    """One debate under one seed.

    ps: the probability of each verdict, None where it could not be read. collapsed: whether a brief
    did not argue for its side.
    """

    ps: tuple[float | None, ...]
    events: tuple[TraceEvent, ...]
    collapsed: bool


class StageResult(NamedTuple):
    """The probability of a stage over all its verdicts, its events, and its flag if one of them
    could not be read."""

    p: float
    events: list[TraceEvent]
    flags: tuple[Flag, ...] = ()


def combine_debates(
    stage: Stage, debates: list[DebateResult], rate: Callable[[], float]
) -> StageResult:
    """Return the mean probability over the verdicts that could be read; without any, the base rate,
    marked as a fallback.

    A mean over fewer verdicts than asked is flagged.
    """
    events = [one for debate in debates for one in debate.events]
    asked = [p for debate in debates for p in debate.ps]
    read = [p for p in asked if p is not None]
    if not read:
        last, p = events[-1], rate()
        marked = last._replace(meta={**last.meta, "p": p, "fallback": True})
        return StageResult(p, [*events[:-1], marked], (FALLBACK[stage],))
    p = sum(read) / len(read)
    if len(asked) > 1:
        of = {} if len(asked) == len(debates) else {"of": "verdicts"}
        text = f"Mean over {len(read)} of {len(asked)} {of.get('of', 'seeds')}: {p:.6f}."
        counts = {"read": len(read), "asked": len(asked), **of}
        events.append(
            TraceEvent(
                stage, "JUDGE", "verdict", text, 0, meta={"p": p, "fallback": False, **counts}
            )
        )
    return StageResult(p, events, (Flag.FEWER_SEEDS,) if len(read) < len(asked) else ())


async def result_of_debates(
    conversation: RowConversation,
    pair: Pair,
    context: Context,
    evidence: tuple[Evidence, ...],
    debates: Mapping[Stage, list[DebateResult]],
) -> RowResult:
    """Return the row that the debates of both stages give: for each the mean over all of its
    verdicts."""
    view = context.view_of(pair)
    p_de, de_events, de_flags = combine_debates(
        "de", debates["de"], lambda: base_rates(view, pair)[0]
    )
    p_up, dir_events, dir_flags = combine_debates(
        "dir", debates["dir"], lambda: base_rates(view, pair)[1]
    )
    collapse = (
        (Flag.ROLE_COLLAPSE,)
        if any(debate.collapsed for stage in SIDES for debate in debates[stage])
        else ()
    )
    up = p_de * p_up
    prediction = Prediction(
        *(pair.pair_id, up, p_de - up, p_de, p_up, "trace"),
        flags=(*collapse, *dict.fromkeys((*de_flags, *dir_flags))),
        tokens=conversation.tokens,
        prompt_tokens=(
            await system_tokens(context, lambda: system_prompts(context.options))
        ).tokens,
        tool_calls=len(evidence),
    )
    return RowResult(prediction, (*de_events, *dir_events), evidence, conversation.calls)


async def hold_debate(
    conversation: RowConversation, stage: Stage, case: DebateCase, seed: int
) -> DebateResult:
    """Ask for both briefs concurrently, then for both rebuttals concurrently, then for all verdicts
    on them concurrently."""
    rounds, sides = case.options["rounds"], SIDES[stage]
    events: list[TraceEvent] = []
    speeches: list[Speech] = []
    collapsed = False
    if rounds:
        briefs = await gather_all(
            *(_ask_brief(conversation, stage, side, case, seed) for side in sides)
        )
        events += [one for brief in briefs for one in brief.events]
        speeches += [(side, brief.text) for side, brief in zip(sides, briefs, strict=True)]
        collapsed = any(brief.collapsed for brief in briefs)
    if rounds > 1:
        briefs_by_side = dict(speeches)
        replies = await gather_all(
            *(
                _ask_rebuttal(conversation, stage, side, case, seed, briefs_by_side)
                for side in sides
            )
        )
        events += replies
        speeches += [
            (f"{side} in reply", reply.content) for side, reply in zip(sides, replies, strict=True)
        ]
    judged = await judge_debate(conversation, stage, case, seed, speeches)
    return DebateResult(judged.ps, (*events, *judged.events), collapsed)


async def judge_debate(
    conversation: RowConversation, stage: Stage, case: DebateCase, seed: int, speeches: Speeches
) -> DebateResult:
    """Request all verdicts on the speeches, concurrently."""
    repeats = range(_judge_repeats(case.options))
    verdicts = await gather_all(
        *(_ask_verdict(conversation, stage, case, (seed, repeat), speeches) for repeat in repeats)
    )
    return DebateResult(
        tuple(p for p, _ in verdicts),
        tuple(one for _, events in verdicts for one in events),
        collapsed=False,
    )


class _Brief(NamedTuple):
    """A brief's text and events; collapsed: it did not argue for its side, even when asked
    again."""

    text: str
    events: tuple[TraceEvent, ...]
    collapsed: bool


async def _ask_brief(
    conversation: RowConversation, stage: Stage, side: str, case: DebateCase, seed: int
) -> _Brief:
    spec = _advocate_call(stage, side, case, seed)

    def reader(reply: Reply) -> str | Unread:
        found = find_faults(side, reply.content, case.pert, case.gene)
        return Unread("; ".join(FAULTS[fault] for fault in found)) if found else reply.content

    found: ReadAnswer[str] = await conversation.read(
        spec,
        brief_messages(side, case),
        reader,
        lambda problem: ask_brief_again(side, case, problem.reason),
    )
    collapsed = isinstance(found.value, Unread)
    meta = {
        "seed": seed,
        **({"role_collapse": found.value.reason} if isinstance(found.value, Unread) else {}),
    }
    return _Brief(
        found.reply.content,
        (*found.rejected, event_of(spec, "brief", found.reply, **meta)),
        collapsed,
    )


async def _ask_rebuttal(
    conversation: RowConversation,
    stage: Stage,
    side: str,
    case: DebateCase,
    seed: int,
    briefs: Mapping[str, str],
) -> TraceEvent:
    spec = _advocate_call(stage, side, case, seed)
    reply = await conversation.ask(
        spec, rebuttal_messages(side, case, briefs[side], briefs[OPPONENT[side]])
    )
    return event_of(spec, "rebuttal", reply, seed=seed, round=1)


def _advocate_call(stage: Stage, side: str, case: DebateCase, seed: int) -> CallSpec:
    return CallSpec(
        stage, side, seed, case.options["advocate_tokens"], case.options["advocate_effort"]
    )


async def _ask_verdict(
    conversation: RowConversation,
    stage: Stage,
    case: DebateCase,
    draw: tuple[int, int],
    speeches: Speeches,
) -> tuple[float | None, tuple[TraceEvent, ...]]:
    """Return the judge's probability of yes, None if neither of its two answers could be read, and
    the events.

    draw: the debate's seed, and which verdict on it this is; the first is asked under the seed
    itself.
    """
    seed, repeat = draw
    by_letter = judge_of(stage, case.options) == "logprob"
    spec = CallSpec(
        stage,
        "JUDGE",
        seed + repeat * SEEDS_BETWEEN_VERDICTS,
        case.options["judge_tokens"],
        case.options["judge_effort"],
        by_letter,
        schema=verdict_schema(stage, case.options),
    )
    reader, re_ask = (
        (_read_yes, partial(ask_letter_again, letters=ANSWERS))
        if by_letter
        else (read_probability, ask_probability_again)
    )
    found: ReadAnswer[float] = await conversation.read(
        spec, verdict_messages(stage, case, speeches), reader, re_ask
    )
    p = None if isinstance(found.value, Unread) else found.value
    which = {"repeat": repeat} if _judge_repeats(case.options) > 1 else {}
    return p, (
        *found.rejected,
        event_of(spec, "verdict", found.reply, seed=seed, **which, p=p, fallback=False),
    )


def _read_yes(reply: Reply) -> float | Unread:
    """Return the probability of the letter that means yes."""
    odds = read_letters(ANSWERS)(reply)
    return odds if isinstance(odds, Unread) else odds[YES]


@dataclass(frozen=True, slots=True)
class DebateCase:
    """One row as every advocate and judge sees it; dossier, examples: texts; options: the
    method's."""

    pert: str
    gene: str
    dossier: str
    examples: str
    options: Options

    @property
    def dossier_and_examples(self) -> str:
        """The dossier, followed by the examples."""
        return f"{self.dossier or 'No tool gave any evidence.'}\n\n{self.examples}".strip()


def system_prompts(options: Options) -> tuple[str, ...]:
    """Return every system prompt of a run: the judges', and the advocates' if there are rounds."""
    names = ("judge", "advocate") if options["rounds"] else ("judge",)
    return tuple(_system_prompt(name, options) for name in names)


def _system_prompt(name: str, options: Options) -> str:
    return fill(prompt_text(name), cell_desc=cell_desc(options), measure=prompt_text("measure"))


def brief_messages(side: str, case: DebateCase) -> Messages:
    """Return the request for a brief: the pair, the side and the dossier, without a multiple-choice
    question."""
    position = fill(prompt_text(f"side_{side.lower()}"), pert=case.pert, gene=case.gene)
    task = fill(
        prompt_text("advocate_task"),
        pert=case.pert,
        gene=case.gene,
        side=side,
        position=position,
        dossier=case.dossier_and_examples,
    )
    return Message("system", _system_prompt("advocate", case.options)), Message("user", task)


def rebuttal_messages(side: str, case: DebateCase, own_brief: str, other_brief: str) -> Messages:
    """Return the request for a rebuttal: the advocate's own brief, and the opponent's to answer."""
    reply = fill(prompt_text("rebuttal"), opponent=OPPONENT[side], brief=other_brief, side=side)
    return *brief_messages(side, case), Message("assistant", own_brief), Message("user", reply)


def verdict_messages(stage: Stage, case: DebateCase, speeches: Speeches) -> Messages:
    """Return the request for a verdict on the speeches, in order."""
    pair = {"pert": case.pert, "gene": case.gene}
    task = fill(
        prompt_text("judge_task"),
        **pair,
        dossier=case.dossier_and_examples,
        debate="\n\n".join(f"{who}:\n{words}" for who, words in speeches),
        question=fill(prompt_text(f"question_{stage}"), **pair),
        format=with_form(
            fill(prompt_text(_format(stage, case.options)), **pair),
            verdict_schema(stage, case.options),
        ),
    )
    return Message("system", _system_prompt("judge", case.options)), Message("user", task)


def judge_of(stage: Stage, options: Options) -> Judge:
    """Return how the judge of a debate answers: in its own way, or as both do."""
    own: Judge = options.get(f"judge_{stage}") or options["judge"]
    return own


def _format(stage: Stage, options: Options) -> str:
    judge = judge_of(stage, options)
    return f"format_sharp_{stage}" if judge == "sharp" else f"format_{judge}"


def verdict_schema(stage: Stage, options: Options) -> AnswerSchema | None:
    """Return the schema of a verdict; None for a verdict in any text."""
    if not options.get("structured"):
        return None
    return (
        letter_schema(ANSWERS)
        if judge_of(stage, options) == "logprob"
        else percent_schema("probability")
    )


def ask_brief_again(side: str, case: DebateCase, reason: str) -> str:
    """Return the second request for a brief, with the reason why the first answer was rejected."""
    return fill(
        prompt_text("reask_brief"), reason=reason, side=side, pert=case.pert, gene=case.gene
    )


def all_texts(options: Options) -> str:
    """Return every text that a prompt with these options may hold, one after the other."""
    formats = dict.fromkeys(_format(stage, options) for stage in SIDES)
    names = [
        "judge",
        "judge_task",
        "question_de",
        "question_dir",
        *formats,
        "reask_letter",
        "reask_prob",
        "examples",
    ]
    if options["rounds"]:
        names += [
            "advocate",
            "advocate_task",
            "reask_brief",
            *(f"side_{side.lower()}" for side in OPPONENT),
        ]
    if options["rounds"] > 1:
        names.append("rebuttal")
    text = "\n\n".join((*map(prompt_text, names), prompt_text("measure"), cell_desc(options)))
    for schema in dict.fromkeys(verdict_schema(stage, options) for stage in SIDES):
        text = with_form(text, schema)
    return text

"""A row of a debate asked again: the judge alone on the briefs as they are stored, or the whole
debate.

Its dossier is the one that the agents saw, or that one with cards left out or edited by hand.
Repeat r is asked under the debate's seeds plus r times SEED_STEP, whatever was changed, so that
changed and unchanged askings differ in the dossier alone. The prediction is the mean over the
repeats; the verdicts of each carry its number as `again` (from 1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le

from core.base.errors import StateError
from core.base.fields.setting import setting
from core.base.types import ASKED_AGAIN, Evidence, Flag, Pair, RowResult, TraceEvent
from core.evidence.render import EDITED, dossier
from core.features.asking.changed_cards import (
    BEFORE,
    change_cards,
    describe_changes,
    read_changes,
    write_changes,
)
from core.methods import debate as texts
from core.methods.base import Context, EarlierRow, RowMethod
from core.methods.conversation import ConversationMethod, RowConversation, gather_all
from core.methods.debate import METHOD as DEBATE
from core.methods.debate import (
    SIDES,
    DebateCase,
    DebateResult,
    Speech,
    Speeches,
    Stage,
    hold_debate,
    judge_debate,
    result_of_debates,
)
from core.methods.prompts import SEED_STEP, examples, read_seeds

MOST_REPEATS = 10
STAGE = "asked again"  # of the event that says what was asked
# options of a debate that say where a dossier comes from, which is there
_GATHERED = ("tools", "sources", "literature")


@dataclass(frozen=True)
class AgainSettings:
    """The options of askings again."""

    run: Annotated[str, setting("The debate that is asked again.", names="run")] = ""
    ask: Annotated[
        Literal["judge", "debate"],
        setting("Who is asked: the judge alone, on the briefs as they are, or the whole debate."),
    ] = "judge"
    repeats: Annotated[
        int, Ge(1), Le(MOST_REPEATS), setting("How often, each time under other seeds.")
    ] = 5
    changes: Annotated[
        str, setting("Cards left out or edited, as JSON; the page Rows writes it.")
    ] = ""


class DebateAgain(ConversationMethod):
    """Asks about rows of a debate again. Its specification holds the debate's options beside its
    own."""

    name = ASKED_AGAIN
    version = 2
    about = (
        "A row of a debate, asked again with the dossier as it was or changed. It shows what moves"
        " the answer."
    )
    asks_again = DEBATE.name
    settings = AgainSettings

    def calls(self, options: Mapping[str, Any]) -> float:
        """Return the calls of the debate for every repeat, for the judge alone those of its
        verdicts."""
        if "rounds" not in options:  # not completed yet
            return float(options["repeats"])
        rounds = 0 if options["ask"] == "judge" else options["rounds"]
        return float(options["repeats"] * DEBATE.calls({**options, "rounds": rounds}))

    def prompts(self, options: Mapping[str, Any]) -> str:
        """Return the texts that the prompts of the debate are made from."""
        return texts.all_texts(options)

    def parent(self, options: Mapping[str, Any]) -> str:
        """Return the name or id of the debate."""
        return str(options["run"])

    def complete(
        self, options: Mapping[str, Any], parent: str, asked: Mapping[str, Any], seed: int
    ) -> dict[str, Any]:
        """Return the options with those of the debate; without rounds the judge alone is the whole
        debate."""
        known = {name: value for name, value in asked.items() if name not in _GATHERED}
        seeds = ",".join(map(str, read_seeds(str(known["seeds"]), seed)))
        who = options["ask"] if known["rounds"] else "judge"
        changes = write_changes(read_changes(options["changes"]))
        return {**known, "seeds": seeds, **options, "ask": who, "changes": changes, "run": parent}

    async def predict_in(
        self, conversation: RowConversation, pair: Pair, context: Context
    ) -> RowResult:
        """Ask every repeat and average them."""
        options = context.options
        evidence, case = dossier_again(pair, context)
        seeds = read_seeds(options["seeds"])
        asked = [
            (stage, repeat, seed)
            for stage in SIDES
            for repeat in range(1, options["repeats"] + 1)
            for seed in seeds
        ]

        async def ask(stage: Stage, repeat: int, seed: int) -> DebateResult:
            if options["ask"] == "debate":
                found = await hold_debate(conversation, stage, case, seed + SEED_STEP * repeat)
            else:
                speeches = speeches_of(
                    context.earlier[pair.pair_id], stage, seed, options["rounds"]
                )
                found = await judge_debate(
                    conversation, stage, case, seed + SEED_STEP * repeat, speeches
                )
            return found._replace(
                events=tuple(e._replace(meta={**e.meta, "again": repeat}) for e in found.events)
            )

        found = await gather_all(*(ask(*each) for each in asked))
        of_stage = {
            stage: [result for (of, _, _), result in zip(asked, found, strict=True) if of == stage]
            for stage in SIDES
        }
        result = await result_of_debates(conversation, pair, context, evidence, of_stage)
        flags = (*result.prediction.flags, *((Flag.DOSSIER_CHANGED,) if options["changes"] else ()))
        about = _describe(options, evidence)
        return replace(
            result,
            prediction=replace(result.prediction, flags=flags),
            events=(about, *result.events),
        )


METHOD: RowMethod = DebateAgain()


def dossier_again(pair: Pair, context: Context) -> tuple[tuple[Evidence, ...], DebateCase]:
    """Return the evidence of the row after the changes, and the case that advocates and judges
    see."""
    options = context.options
    evidence = change_cards(
        context.earlier[pair.pair_id].evidence, read_changes(options["changes"]), pair
    )
    shown = examples(pair, context.view_of(pair), options["shots"], context.seed)
    return evidence, DebateCase(pair.pert, pair.gene, dossier(evidence, pair).text, shown, options)


def speeches_of(row: EarlierRow, stage: Stage, seed: int, rounds: int) -> Speeches:
    """Return the briefs, then the rebuttals, of a stage under a seed, from the store. Raise
    StateError if one is missing."""
    speeches: list[Speech] = []
    for kind in ("brief", "rebuttal")[:rounds]:
        for side in SIDES[stage]:
            said = [
                e
                for e in row.events
                if (e.stage, e.role, e.kind, e.meta.get("seed")) == (stage, side, kind, seed)
            ]
            if len(said) != 1:
                raise StateError(
                    f"{kind} of {side} under seed {seed}: {len(said)} are stored, expected one; ask"
                    " the whole debate"
                )
            speeches.append((side if kind == "brief" else f"{side} in reply", said[0].content))
    return speeches


def _describe(options: Mapping[str, Any], evidence: tuple[Evidence, ...]) -> TraceEvent:
    """Return the event with the question and the dossier."""
    is_judge = options["ask"] == "judge" and options["rounds"]
    who = "The judge alone, on the stored briefs" if is_judge else "The whole debate"
    changes = describe_changes(read_changes(options["changes"]))
    lines = [f"{who}, asked again {options['repeats']} times. Dossier: {changes}."]
    edited = (item.body for item in evidence if EDITED in item.body)
    lines += (f"Edited by hand: “{body[EDITED]}” instead of “{body[BEFORE]}”" for body in edited)
    return TraceEvent(
        STAGE,
        "DOSSIER",
        "changes",
        "\n".join(lines),
        0,
        meta={"of": options["run"], "ask": options["ask"]},
    )

"""The simulated demo's runs: dossiers that tools would give, and debates that argue from them.

No language model is asked: the numbers follow the dossiers, the texts are composed by rule. Trace
events are those that an import of such a run has (traces).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from random import Random
from typing import Any, NamedTuple

import numpy as np

from core.base.types import Evidence, Flag, Prediction, RowResult, TraceEvent
from core.features.demo.world import PROGRAMS, View, World

PARTNERS = 6
RETRIEVED = datetime(2026, 1, 5, 9, 30, tzinfo=UTC)
SIDES = {"de": ("EFFECT", "NULL"), "dir": ("UP", "DOWN")}
FLAGS = {"de": Flag.DE_FALLBACK, "dir": Flag.DIR_FALLBACK}
BANDS = {"de": (0.4, 0.52), "dir": (0.5, 0.7)}  # of a judge's "low" and "high" reasons
AVERAGE = {"de": -0.55, "dir": 0.65}  # log odds of a judge whom the dossier does not move
UNREADABLE = {"de": 0.013, "dir": 0.008}  # share of the collapsed debate's verdicts
COLLAPSED = {"de": 0.65, "dir": 0.95}  # share of its briefs that name an option, as published
LETTERS = {  # the options that these briefs name, about as often as published
    "EFFECT": "AAAAAABC",
    "NULL": "C" * 19 + "A",
    "UP": "A" * 10 + "C" * 9 + "B",
    "DOWN": "C" * 11 + "A" * 7 + "BB",
}
# Of a brief: opening, points, conclusion (DIRECTION: of UP and DOWN); rebuttals; a judge's reasons
# for a high, middle or low probability; and how an advocate answers who does not argue.
_TABLE = """\
EFFECT open: Knockdown of {pert} should move {gene} in these macrophages.
EFFECT open: There is a credible case that {gene} responds when {pert} is lost.
EFFECT link: Passage {ref} reports that loss of {pert} {verb} the {program} program, the one that
  {gene} follows.
EFFECT link: {ref} ties {pert} to {program}, and that is where the annotation of {gene} points.
EFFECT nolink: No passage tests this pair, but absence from a sparse literature is weak evidence
  against a response.
EFFECT nolink: What was retrieved stops short of the pair itself, so the case rests on what the
  two genes do.
EFFECT program: {gene} takes part in {program}, which moves after many perturbations of this kind.
EFFECT program: The annotation places {gene} in {program}, a program that responds to loss of core
  functions.
EFFECT quiet: {gene} takes part in {program}, which is quiet here, but annotations are incomplete.
EFFECT near: {symbol}, the closest analogue of {pert} (score {score}), changed {de} of its {n}
  measured targets.
EFFECT near: Among the network partners of {pert}, led by {symbol}, {near} of the labelled rows
  changed.
EFFECT rates: With {base} of comparable rows changed, the prior is far from negligible.
EFFECT close: Taken together, a detectable change of {gene} is the better reading.
EFFECT close: The judge should put this row above the base rate.
NULL open: Nothing in the dossier carries an effect from {pert} all the way to {gene}.
NULL open: The burden of proof lies with the claim that {gene} responds to {pert}, and it is not
  met.
NULL link: {ref} does report that loss of {pert} {verb} {program}, but from a reporter and not from
  {gene}.
NULL link: The one relevant passage, {ref}, measured {program} early and under other conditions.
NULL nolink: No passage links {pert} with the program of {gene}, and none mentions the two
  together in earnest.
NULL nolink: What is written of {pert} stops well before {gene}.
NULL program: Taking part in {program} says what {gene} does, not that {pert} controls it.
NULL quiet: Nothing moves {program} in these cells, which removes the usual route to {gene}.
NULL near: The analogues of {pert} changed {near} of their targets, which singles out none of
  them.
NULL near: If {pert} acted on {gene}, its partners might too; {symbol} changed {de} of {n}
  targets.
NULL rates: The base rate already favours no change, since only {base} of comparable rows moved.
NULL close: The most economical conclusion is that {gene} does not move.
NULL close: The evidence is general where it would have to be specific.
DIRECTION open: If {gene} responds to the loss of {pert}, it should {rise}.
DIRECTION open: The likelier outcome for {gene} without {pert} is a {rise}.
DIRECTION link: {ref} reports that loss of {pert} {verb} {program}, and a {rise} of {gene} can be
  squared with that.
DIRECTION link: {ref} measured {program} early, before the compensation that would bring {gene} to a
  {rise}.
DIRECTION nolink: No passage gives a sign for this pair, so the class and the analogues decide.
DIRECTION nolink: The literature does not settle the sign, and the other evidence should be read
  for it.
DIRECTION program: What {program} does after loss of core functions is a tendency and no rule for
  {gene}.
DIRECTION quiet: No program fixes the sign for {gene}, which leaves room for the effect of {pert}
  itself.
DIRECTION near: Of the changes after loss of analogues such as {symbol}, {near_up} are increases
  (overall {base_up}).
DIRECTION near: Partners of {pert} such as {symbol} rise in {near_up} of changes, against
  {base_up} overall.
DIRECTION rates: Overall, {base_up} of changed rows are increases.
DIRECTION close: So a {rise} of {gene} is the better call.
DIRECTION close: Weighing this, {gene} should {rise} rather than the reverse.
EFFECT rebuttal: NULL sets {cite} aside, but offers no measurement that excludes a response of
  {gene}.
EFFECT rebuttal: NULL treats missing evidence as evidence; {cite} remains unanswered.
NULL rebuttal: EFFECT reads {cite} as if it were about {gene} itself, which it is not.
NULL rebuttal: EFFECT's case would fit any target of {pert} equally well, and {base} favours no
  change of {gene}.
de high: EFFECT builds a case on {cite} that NULL does not fully answer.
de middle: Both sides lean on indirect evidence such as {cite}, so I stay near the base rate of
  {base}.
de middle: EFFECT is plausible and NULL is careful; {cite} moves me little from {base}.
de low: NULL is right that {cite} does not reach {gene}, so I go below {base}.
dir high: UP makes more of {cite}, and {base_up} of the changes in view are increases.
dir middle: UP and DOWN both rest on {cite}; the prior of {base_up} decides.
dir low: DOWN argues better, since {cite} is hard to square with an increase of {gene}.
option A: A) Knockdown of {pert} results in up-regulation of {gene}.
option B: B) Knockdown of {pert} results in down-regulation of {gene}.
option C: C) Knockdown of {pert} does not significantly affect {gene}.
"""

PHRASES: dict[str, list[str]] = {}
for _line in _TABLE.replace("\n  ", " ").splitlines():
    _key, _, _text = _line.partition(": ")
    PHRASES.setdefault(_key, []).append(_text)


class Dossier(NamedTuple):
    """A row's evidence, the words that fill phrases, the points to argue, and for each stage the
    pull on its log odds and the base rate in view."""

    pert: str
    gene: str
    evidence: tuple[Evidence, ...]
    words: Mapping[str, Any]
    points: tuple[str, ...]
    pull: Mapping[str, float]
    base: Mapping[str, float]


class Library:
    """What is known of the symbols of a world, and the dossiers that tools make of it."""

    def __init__(self, world: World, rng: np.random.Generator) -> None:
        self.world = world
        self._reported = world.effect + rng.standard_normal(world.effect.shape)
        unit = world.effect / np.maximum(np.linalg.norm(world.effect, axis=1, keepdims=True), 1e-12)
        noise = rng.standard_normal((len(unit), len(world.perts)))
        self._alike = unit @ unit[world.perts].T + 0.5 * noise

    def describe(self, symbol: int) -> str:
        """Return a sentence or two on a symbol."""
        terms = " and ".join(PROGRAMS[self.world.program[symbol]].terms)
        return f"Takes part in {terms}. Invented for the demo, and part of no real genome."

    def dossier(self, pert: int, gene: int, view: View) -> Dossier:
        """Return the dossier of a row, from the labels in its view."""
        p, g = self.world.symbols[pert], self.world.symbols[gene]
        program = PROGRAMS[self.world.program[gene]]
        link = self._report(pert, gene)
        n, up, down = (int(count.sum()) for count in view[1:])
        base = {"de": round((up + down) / n, 3), "dir": round(up / (up + down), 3)}
        rates = {"n": n, "p_de": base["de"], "p_up_given_de": base["dir"]}
        partners, passages = self._partners(pert, view), self._passages(pert, gene, link)
        evidence = (
            *(self._gene_info(symbol) for symbol in (pert, gene)),
            _answer("base_rates", "all rows in view", rates, view.name),
            _answer("pathway_neighbours", p, {"partners": partners}, view.name),
            _answer("literature", f"{p}|{g}", {"passages": passages}),
        )
        measured, de, up = (sum(each[key] for each in partners) for key in ("n", "de", "up"))
        near_de, near_up = de / measured if measured else base["de"], up / de if de else base["dir"]
        is_quiet, ref = program.lean is None, passages[0]["id"]
        shares = {"base": base["de"], "base_up": base["dir"], "near": near_de, "near_up": near_up}
        words = {
            **(partners[0] if partners else {}),
            **{name: f"{share:.0%}" for name, share in shares.items()},
            **{"pert": p, "gene": g, "program": program.name, "verb": _verb(link), "ref": ref},
            "cite": f"passage {ref}" if link else f"the {program.name} program",
        }
        points = "link" if link else "nolink", "quiet" if is_quiet else "program", "rates"
        pull = {
            "de": 1.1 * abs(link) - 0.7 * is_quiet + 2.0 * (near_de - base["de"]),
            "dir": 0.8 * link + 1.5 * (near_up - base["dir"]),
        }
        return Dossier(p, g, evidence, words, (*points, *["near"] * bool(de)), pull, base)

    def _report(self, pert: int, gene: int) -> int:
        """Return the sign of the reported effect of a perturbation on a gene's program, 0 for
        none."""
        program = self.world.program[gene]
        effect = self._reported[pert, program]
        is_known = PROGRAMS[program].lean is not None and abs(effect) > 1.6
        return int(np.sign(effect)) if is_known else 0

    def _gene_info(self, symbol: int) -> Evidence:
        name, program = self.world.symbols[symbol], PROGRAMS[self.world.program[symbol]]
        terms = [program.name, *program.terms]
        body = {"symbol": name, "name": f"simulated gene {name}", "go": terms}
        return _answer("gene_info", name, {**body, "summary": self.describe(symbol)})

    def _partners(self, pert: int, view: View) -> list[dict[str, Any]]:
        """Return training perturbations that act alike, best first, with their labels in view."""
        partners = []
        for place in np.argsort(-self._alike[pert])[: 4 * PARTNERS].tolist():
            other = self.world.perts[place]
            n, up, down = (int(count[other]) for count in view[1:])
            score = min(max(int(400 + 300 * self._alike[pert, place]), 400), 999)
            if n:
                partner = {"symbol": self.world.symbols[other], "score": score, "n": n}
                partners.append({**partner, "de": up + down, "up": up, "down": down})
        return partners[:PARTNERS]

    def _passages(self, pert: int, gene: int, link: int) -> list[dict[str, Any]]:
        """Return passages on a row: a report on the gene's program if there is one, and an atlas
        entry."""
        p, g = self.world.symbols[pert], self.world.symbols[gene]
        code = self.world.program[gene]
        program, n = PROGRAMS[code].name, len(PROGRAMS)
        said = f"Depleting {p} {_verb(link)} {program} readouts in most of 9 simulated cultures."
        reports = [(pert * n + code, f"Loss of {p} and {program}", said)] if link else []
        entry = f"{g} is expressed in simulated macrophages; it follows the {program} program."
        atlas = len(self.world.symbols) * n + gene, f"An atlas entry for {g}", entry
        return [
            {"title": title, "text": text, "id": f"SIM-{number + 1:06d}", "co_mention": False}
            for number, title, text in (*reports, atlas)
        ]


def _answer(tool: str, key: str, body: Mapping[str, Any], view: str = "") -> Evidence:
    return Evidence(tool, key, "ok", "simulated", RETRIEVED, body, view)


def _verb(sign: int) -> str:
    return "raises" if sign > 0 else "lowers"


def debate(dossier: Dossier, *, collapsed: bool = False) -> RowResult:
    """Return a debate in which every advocate argues for its side; some have a round of rebuttals.

    collapsed: as published, most advocates name an option of the multiple-choice question, and some
    verdicts cannot be read: the base rate in view replaces them.
    """
    rng = Random(f"{collapsed} {dossier.pert} {dossier.gene}")
    events: list[TraceEvent] = []
    numbers: dict[str, float] = {}
    flags = []
    for stage, sides in SIDES.items():
        for side in sides:
            names_option = collapsed and rng.random() < COLLAPSED[stage]
            text = (
                _say(f"option {rng.choice(LETTERS[side])}", dossier.words, rng)
                if names_option
                else brief(side, dossier, rng)
            )
            events.append(_event(stage, side, "brief", text, rng))
        if not collapsed and stage == "de" and rng.random() < 1 / 6:
            for side in sides:
                text = _say(f"{side} rebuttal", dossier.words, rng)
                events.append(_event(stage, side, "rebuttal", text, rng, {"round": 1}))
        is_unread = collapsed and rng.random() < UNREADABLE[stage]
        p = dossier.base[stage] if is_unread else judge(stage, dossier, rng, collapsed=collapsed)
        band = "high" if p >= BANDS[stage][1] else "low" if p < BANDS[stage][0] else "middle"
        reason = "" if collapsed else _say(f"{stage} {band}", dossier.words, rng) + "\n"
        text = "I cannot decide." if is_unread else f"{reason}<prob>{round(100 * p)}</prob>"
        meta = {"p": p, "fallback": is_unread}
        events.append(_event(stage, "JUDGE", "verdict", text, rng, meta))
        numbers[stage] = p
        flags += [FLAGS[stage]] * is_unread
    p_de, p_up = numbers.values()
    prediction = Prediction(
        f"{dossier.pert}_{dossier.gene}",
        round(p_de * p_up, 6),
        round(p_de * (1 - p_up), 6),
        p_de=p_de,
        p_up_given_de=p_up,
        p_source="trace",
        flags=tuple(flags),
        tokens=sum(event.tokens or 0 for event in events),
        prompt_tokens=1_012,
        tool_calls=len(dossier.evidence),
    )
    return RowResult(prediction, tuple(events), dossier.evidence)


def judge(stage: str, dossier: Dossier, rng: Random, *, collapsed: bool) -> float:
    """Return the probability that a judge says, in steps of 5%. One who reads no arguments follows
    the dossier less."""
    weight, scatter = (0.6, 0.8) if collapsed else (1.0, 0.6)
    odds = AVERAGE[stage] + weight * dossier.pull[stage] + rng.gauss(0.0, scatter)
    return min(max(round(20 / (1 + math.exp(-odds))), 1), 19) / 20


def brief(side: str, dossier: Dossier, rng: Random) -> str:
    """Return four to six sentences that argue for `side`: both genes, points of the dossier, a
    conclusion."""
    table = "DIRECTION" if side in SIDES["dir"] else side
    words = {**dossier.words, "rise": "rise" if side == "UP" else "fall"}
    points = rng.sample(dossier.points, rng.randint(2, len(dossier.points)))
    return " ".join(_say(f"{table} {key}", words, rng) for key in ("open", *points, "close"))


def _say(key: str, words: Mapping[str, Any], rng: Random) -> str:
    return rng.choice(PHRASES[key]).format_map(words)


def _event(
    stage: str, role: str, kind: str, text: str, rng: Random, meta: Mapping[str, Any] | None = None
) -> TraceEvent:
    """Return an event with plausible costs: a prompt of a thousand tokens, some reasoning, the
    text."""
    written = len(text) // 4 + rng.randrange(500)
    return TraceEvent(
        stage, role, kind, text, 1_050 + written, round(350 + 9.1 * written, 1), meta or {}
    )

"""The simulated demo's runs: dossiers that tools would give, and debates and an agent that read
them.

No language model is asked: the numbers follow the dossiers, the texts are composed by rule. Trace
events are those that an import of such a run has (traces).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from random import Random
from typing import Any, NamedTuple

import numpy as np

from core.base.types import Evidence, Flag, Prediction, RowResult, TraceEvent
from core.features.demo.world import MOVING, PROGRAMS, Floats, Program, View, World

PARTNERS = 6
RETRIEVED = datetime(2026, 1, 5, 9, 30, tzinfo=UTC)
SIDES = {"de": ("EFFECT", "NULL"), "dir": ("UP", "DOWN")}
FLAGS = {"de": Flag.DE_FALLBACK, "dir": Flag.DIR_FALLBACK}
BANDS = {"de": (0.4, 0.52), "dir": (0.5, 0.7)}  # of a judge's "low" and "high" reasons
N_UNREADABLE = {"de": 16, "dir": 10}  # verdicts of the collapsed debate that cannot be read
# Per thousand collapsed advocates: an option, its letter, an option and then a brief. Which option,
# about as published.
COLLAPSE = {"de": (560, 90, 90), "dir": (800, 150, 10)}
LETTERS = {
    "EFFECT": "AAAAAABC",
    "NULL": "C" * 19 + "A",
    "UP": "A" * 10 + "C" * 9 + "B",
    "DOWN": "C" * 11 + "A" * 7 + "BB",
}
# The numbers that judges tend to give, in percent.
SPOKEN = np.array(
    [*range(5, 96, 5), 8, 12, 18, 22, 28, 32, 33, 38, 42, 48, 52, 58, 62, 68, 72, 78, 82, 88, 92]
)
# Of a brief: opening, points, conclusion (DIRECTION: of UP and DOWN); rebuttals; a judge's reasons
# for a high, middle or low probability; why an agent calls a tool; and how an advocate answers who
# does not argue.
_TABLE = """\
EFFECT open: Knockdown of {pert} should move {gene} in these macrophages.
EFFECT open: There is a credible case that {gene} responds when {pert} is lost.
EFFECT link: Passage {ref} reports that loss of {pert} {verb} the {topic} program, the one that
  {gene} follows.
EFFECT link: {ref} ties {pert} to {topic}, and that is where the annotation of {gene} points.
EFFECT nolink: No passage tests this pair, but absence from a sparse literature is weak evidence
  against a response.
EFFECT nolink: What was retrieved stops short of the pair itself, so the case rests on what the
  two genes do.
EFFECT program: {gene} is listed in the {program} program, which moves after many perturbations of
  this kind.
EFFECT program: The gene class places {gene} in {program}, one of the programs that respond to
  loss of core functions.
EFFECT unlisted: {gene} stands outside the curated programs, but those cover only part of the
  responsive genes.
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
NULL link: {ref} does report that loss of {pert} {verb} {topic}, but from a reporter and not from
  {gene}.
NULL link: The one relevant passage, {ref}, measured {topic} early and under other conditions.
NULL nolink: No passage links {pert} with the program of {gene}, and none mentions the two
  together in earnest.
NULL nolink: What is written of {pert} stops well before {gene}.
NULL program: Being listed in {program} says what {gene} does, not that {pert} controls it.
NULL unlisted: No curated program lists {gene}, which removes the usual route for an indirect
  response.
NULL near: The analogues of {pert} changed {near} of their targets, which singles out none of
  them.
NULL near: If {pert} acted on {gene}, its partners might too; {symbol} changed {de} of {n}
  targets.
NULL rates: The base rate already favours no change, since only {base} of comparable rows moved.
NULL close: The most economical conclusion is that {gene} does not move.
NULL close: The evidence is general where it would have to be specific.
DIRECTION open: If {gene} responds to the loss of {pert}, it should {rise}.
DIRECTION open: The likelier outcome for {gene} without {pert} is a {rise}.
DIRECTION link: {ref} reports that loss of {pert} {verb} {topic}, and a {rise} of {gene} can be
  squared with that.
DIRECTION link: {ref} measured {topic} early, before the compensation that would bring {gene} to a
  {rise}.
DIRECTION nolink: No passage gives a sign for this pair, so the class and the analogues decide.
DIRECTION nolink: The literature does not settle the sign, and the other evidence should be read
  for it.
DIRECTION program: What {program} does after loss of core functions is a tendency and no rule for
  {gene}.
DIRECTION unlisted: No curated program fixes the sign for {gene}, which leaves room for the effect
  of {pert} itself.
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
gene_info: I start with what is annotated for {gene}.
pathway_neighbours: Next, did perturbations like {pert} change much?
literature: Does anyone report on {pert} and the program of {gene}?
conclude: Given {cite} and a base rate of {base}, my estimate for {gene} after loss of {pert} is
  this.
option A: A) Knockdown of {pert} results in up-regulation of {gene}.
option B: B) Knockdown of {pert} results in down-regulation of {gene}.
option C: C) Knockdown of {pert} does not significantly affect {gene}.
"""

PHRASES: dict[str, list[str]] = {}
for _line in _TABLE.replace("\n  ", " ").splitlines():
    _key, _, _text = _line.partition(": ")
    PHRASES.setdefault(_key, []).append(_text)


class Dossier(NamedTuple):
    """A row's evidence, the words that fill phrases, the points to argue, and the pull on both
    log-odds."""

    pert: str
    gene: str
    evidence: tuple[Evidence, ...]
    words: Mapping[str, Any]
    points: Sequence[str]
    pull: tuple[float, float]
    base: tuple[float, float]


class Library:
    """The tools' answers; equal questions get the same object."""

    def __init__(self, world: World, rng: np.random.Generator) -> None:
        self.world, n = world, len(world.symbols)
        stray = rng.random(n) < 0.25  # one annotation in four is of some other program
        self._annotated = np.where(stray, rng.integers(len(PROGRAMS), size=n), world.program)
        self._status = rng.choice(
            ["ok", "empty", "error", "offline"], n, p=[0.964, 0.012, 0.012, 0.012]
        ).tolist()
        self._listed = (rng.random(n) < 0.75) & np.isin(world.program, MOVING) & ~world.clone
        self._reported = world.effect + rng.standard_normal(world.effect.shape)
        unit = world.effect / np.maximum(np.linalg.norm(world.effect, axis=1, keepdims=True), 1e-12)
        noise = rng.standard_normal((n, len(world.perts["train"])))
        self._alike: Floats = unit @ unit[world.perts["train"]].T + 0.5 * noise
        self._answers: dict[tuple[str, str, str], Evidence] = {}

    def _answer(
        self, tool: str, key: str, body: Mapping[str, Any], status: Any = "ok", view: str = ""
    ) -> Evidence:
        answer = Evidence(
            tool, key, status, "simulated", RETRIEVED, body if status == "ok" else {}, view
        )
        return self._answers.setdefault((tool, key, view), answer)

    def program_of(self, i: int) -> Program:
        """Return the program that a symbol belongs to, listed or not."""
        return PROGRAMS[self.world.program[i]]

    def gene_info(self, i: int) -> Evidence:
        """Return two annotated terms of a symbol; none of a clone."""
        symbol, go = (
            self.world.symbols[i],
            () if self.world.clone[i] else PROGRAMS[self._annotated[i]].terms[:2],
        )
        summary = (
            f"Takes part in {' and '.join(go)}. Invented for the demo, and part of no real genome."
            if go
            else ""
        )
        body = {
            "symbol": symbol,
            "name": f"simulated gene {symbol}",
            "summary": summary,
            "go": list(go),
        }
        return self._answer("gene_info", symbol, body, self._status[i])

    def gene_class(self, i: int) -> Evidence:
        """Return the curated program of a symbol: of most genes that can respond, and of no
        clone."""
        name, expected = (
            (self.program_of(i).name, self.program_of(i).expected)
            if self._listed[i]
            else (None, None)
        )
        body = {"uncharacterised": bool(self.world.clone[i]), "program": name, "expected": expected}
        return self._answer("gene_class", self.world.symbols[i], body)

    def base_rates(self, view: View) -> Evidence:
        """Return P(DE) and P(up given DE) of all rows in view."""
        n, up, down = (int(count.sum()) for count in view[1:])
        body = {
            "n": n,
            "p_de": round((up + down) / n, 3),
            "p_up_given_de": round(up / (up + down), 3),
        }
        return self._answer("base_rates", "all rows in view", body, view=view.name)

    def neighbours(self, pert: int, view: View) -> Evidence:
        """Return training perturbations that act alike, best first, with their labels in view."""
        partners: list[Mapping[str, Any]] = []
        for place in np.argsort(-self._alike[pert])[: 4 * PARTNERS].tolist():
            other = self.world.perts["train"][place]
            n, up, down = (int(count[other]) for count in view[1:])
            score = int(np.clip(400 + 300 * self._alike[pert, place], 400, 999))
            if n:
                symbol = self.world.symbols[other]
                partners.append(
                    {
                        "symbol": symbol,
                        "score": score,
                        "n": n,
                        "de": up + down,
                        "up": up,
                        "down": down,
                    }
                )
        status = self._status[pert] if partners else "empty"
        return self._answer(
            "pathway_neighbours",
            self.world.symbols[pert],
            {"partners": partners[:PARTNERS]},
            status,
            view.name,
        )

    def report(self, pert: int, gene: int) -> int:
        """Return the sign of the reported effect of a perturbation on a gene's program, 0 for
        none."""
        effect = self._reported[pert, self.world.program[gene]]
        is_known = (
            not self.world.clone[gene]
            and self.program_of(gene).lean is not None
            and abs(effect) > 1.6
        )
        return int(np.sign(effect)) if is_known else 0

    def literature(self, pert: int, gene: int) -> Evidence:
        """Return passages on a row: a report on the gene's program, and an atlas entry."""
        p, g = (self.world.symbols[i] for i in (pert, gene))
        program, sign, found = self.program_of(gene), self.report(pert, gene), []
        if sign:
            number = pert * len(PROGRAMS) + int(self.world.program[gene])
            text = (
                f"Depleting {p} {_verb(sign)} {program.name} readouts in most of 9 simulated"
                " cultures."
            )
            found.append((number, f"Loss of {p} and {program.name}", text))
        if not self.world.clone[gene]:
            text = (
                f"{g} is expressed in simulated macrophages; it follows the {program.name} program."
            )
            found.append(
                (len(self._reported) * len(PROGRAMS) + gene, f"An atlas entry for {g}", text)
            )
        status = self._status[(3 * pert + gene) % len(self._status)] if found else "empty"
        passages = [
            {"title": title, "text": text, "id": f"SIM-{number + 1:06d}", "co_mention": False}
            for number, title, text in found
        ]
        return self._answer("literature", f"{p}|{g}", {"passages": passages}, status)


def _verb(sign: int) -> str:
    return "raises" if sign > 0 else "lowers"


def build_dossier(library: Library, pert: int, gene: int, view: View) -> Dossier:
    """Return the dossier of a row, from the labels in its view."""
    papers, near, rates = (
        library.literature(pert, gene),
        library.neighbours(pert, view),
        library.base_rates(view),
    )
    evidence = (
        *map(library.gene_info, (pert, gene)),
        *map(library.gene_class, (pert, gene)),
        rates,
        near,
        papers,
    )
    link = library.report(pert, gene) if papers.status == "ok" else 0
    p, g = (library.world.symbols[i] for i in (pert, gene))
    partners, about = near.body.get("partners", []), evidence[3].body
    program = about["program"]
    n, de, up = (sum(partner[key] for partner in partners) for key in ("n", "de", "up"))
    base_de, base_up = rates.body["p_de"], rates.body["p_up_given_de"]
    near_de, near_up = de / n if n else base_de, up / de if de else base_up
    ref = papers.body["passages"][0]["id"] if link else ""
    shares = {"base": base_de, "base_up": base_up, "near": near_de, "near_up": near_up}
    words = {
        "pert": p,
        "gene": g,
        "ref": ref,
        "topic": library.program_of(gene).name,
        "program": program,
        "verb": _verb(link),
    }
    words |= {name: f"{share:.0%}" for name, share in shares.items()} | (
        partners[0] if partners else {}
    )
    words["cite"] = (
        f"passage {ref}" if link else f"the {program} program" if program else "the base rate"
    )
    points = [
        "link" if link else "nolink",
        "program" if program else "unlisted",
        *(["near"] if de else []),
        "rates",
    ]
    lean = {"up": 1, "down": -1, None: 0}[about["expected"]]
    pull_de = (
        1.1 * abs(link)
        + (0.3 if program else -0.4)
        - 0.6 * about["uncharacterised"]
        + 2.0 * (near_de - base_de)
    )
    pull = pull_de, 0.8 * link + 0.4 * lean + 1.5 * (near_up - base_up)
    return Dossier(p, g, evidence, words, points, pull, (base_de, base_up))


def judge(
    dossiers: Sequence[Dossier],
    weight: float,
    scatter: tuple[float, float],
    rng: np.random.Generator,
) -> Floats:
    """Return P(DE) and P(up given DE), of shape (n_rows, 2), as the few dozen numbers that judges
    say.

    weight: how far the log-odds follow the dossiers; scatter: their standard deviations around
    that.
    """
    noise = np.array(scatter) * rng.standard_normal((len(dossiers), 2))
    percent = 100 / (
        1
        + np.exp(
            -(weight * np.array([dossier.pull for dossier in dossiers]) + noise + [-0.55, 0.65])
        )
    )
    spoken: Floats = SPOKEN[np.abs(percent[:, :, None] - SPOKEN).argmin(axis=2)] / 100
    return spoken


def debates(
    dossiers: Sequence[Dossier], rng: np.random.Generator, collapsed: bool = False
) -> tuple[RowResult, ...]:
    """Return debates in which every advocate argues for its side; some have a round of rebuttals.

    collapsed: as published, most advocates answer the multiple-choice question, and some verdicts
    cannot be read.
    """
    verdicts = judge(
        dossiers, *((0.6, (0.75, 1.0)) if collapsed else (1.0, (0.5, 0.8))), rng
    ).tolist()
    unread = {
        stage: set(rng.choice(len(dossiers), count * collapsed, replace=False))
        for stage, count in N_UNREADABLE.items()
    }
    fallbacks = [[stage for stage in SIDES if i in unread[stage]] for i in range(len(dossiers))]
    return tuple(
        _debate(*row, collapsed) for row in zip(dossiers, verdicts, fallbacks, strict=True)
    )


def _debate(
    dossier: Dossier, verdict: Sequence[float], fallbacks: Sequence[str], collapsed: bool
) -> RowResult:
    """Return a row; a stage in `fallbacks` has no readable verdict, and the base rate in view for a
    number."""
    rng, words = Random(f"{collapsed} {dossier.pert} {dossier.gene}"), dossier.words
    events: list[TraceEvent] = []
    numbers = [
        dossier.base[i] if stage in fallbacks else verdict[i] for i, stage in enumerate(SIDES)
    ]
    for stage, p in zip(SIDES, numbers, strict=True):
        for side in SIDES[stage]:
            text = (
                _collapsed_brief(stage, side, dossier, rng)
                if collapsed
                else brief(side, dossier, rng)
            )
            events.append(_event(stage, side, "brief", text, rng))
        if not collapsed and stage == "de" and rng.random() < 1 / 6:
            rebuttals = ((side, _say(f"{side} rebuttal", words, rng)) for side in SIDES[stage])
            events += [
                _event(stage, side, "rebuttal", text, rng, {"round": 1}) for side, text in rebuttals
            ]
        band = "high" if p >= BANDS[stage][1] else "low" if p < BANDS[stage][0] else "middle"
        reason = "" if collapsed else _say(f"{stage} {band}", words, rng) + "\n"
        said = f"{reason}<prob>{round(100 * p)}</prob>"
        text = _say(f"option {rng.choice('ABCC')}", words, rng) if stage in fallbacks else said
        events.append(
            _event(stage, "JUDGE", "verdict", text, rng, {"p": p, "fallback": stage in fallbacks})
        )
    return _row(dossier, numbers, events, tuple(FLAGS[stage] for stage in fallbacks))


def ask_agent(dossiers: Sequence[Dossier], rng: np.random.Generator) -> tuple[RowResult, ...]:
    """Return the rows of an agent that asks three tools, one after the other, and answers."""
    return tuple(map(_agent_row, dossiers, judge(dossiers, 0.8, (0.6, 0.9), rng).tolist()))


def _agent_row(dossier: Dossier, answer: Sequence[float]) -> RowResult:
    rng, spoken = Random(f"agent {dossier.pert} {dossier.gene}"), []
    for step, item in enumerate((dossier.evidence[1], *dossier.evidence[5:])):
        arguments = (
            {"gene": dossier.gene} if step == 0 else {"pert": dossier.pert, "gene": dossier.gene}
        )
        observation = (
            json.dumps(dict(item.body)) if item.status == "ok" else f"{item.tool}: {item.status}"
        )
        spoken.append((step, "AGENT", "thought", _say(item.tool, dossier.words, rng)))
        spoken += [
            (step, item.tool, "tool_call", json.dumps(arguments)),
            (step, item.tool, "observation", observation),
        ]
    spoken.append((3, "AGENT", "thought", _say("conclude", dossier.words, rng)))
    spoken.append((3, "AGENT", "answer", "P(DE) {:.2f}, P(up given DE) {:.2f}".format(*answer)))
    events = [
        _event("react", role, kind, text, rng, {"step": step}) for step, role, kind, text in spoken
    ]
    return _row(dossier, answer, events)


def brief(side: str, dossier: Dossier, rng: Random) -> str:
    """Return three to six sentences that argue for `side`: both genes, points of the dossier, a
    conclusion."""
    table = "DIRECTION" if side in SIDES["dir"] else side
    words = {**dossier.words, "rise": "rise" if side == "UP" else "fall"}
    points = rng.sample(dossier.points, rng.randint(1, len(dossier.points)))
    return " ".join(_say(f"{table} {key}", words, rng) for key in ("open", *points, "close"))


def _collapsed_brief(stage: str, side: str, dossier: Dossier, rng: Random) -> str:
    letter = rng.choice(LETTERS[side])
    option, argued = _say(f"option {letter}", dossier.words, rng), brief(side, dossier, rng)
    weights = (*COLLAPSE[stage], 1000 - sum(COLLAPSE[stage]))
    return rng.choices((option, letter, f"{option}\n\n{argued}", argued), weights)[0]


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


def _row(
    dossier: Dossier,
    numbers: Sequence[float],
    events: Sequence[TraceEvent],
    flags: tuple[Flag, ...] = (),
) -> RowResult:
    (p_de, p_up), tokens = numbers, sum(event.tokens or 0 for event in events)
    up, down = round(p_de * p_up, 6), round(p_de * (1 - p_up), 6)
    prediction = Prediction(
        *(f"{dossier.pert}_{dossier.gene}", up, down),
        p_de=p_de,
        p_up_given_de=p_up,
        p_source="trace",
        flags=flags,
        tokens=tokens,
        prompt_tokens=1_012,
        tool_calls=len(dossier.evidence),
    )
    return RowResult(prediction, tuple(events), dossier.evidence)

"""The simulated demo's debates: judges whose numbers follow the dossier, and advocates whose briefs are composed by rule.

No language model is asked. The trace events are those that an imported debate has (traces).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from core.datasets.demo_evidence import Dossier
from core.datasets.demo_text import OPTIONS, PHRASES, REASONS, REBUTTALS
from core.datasets.demo_world import Floats
from core.types import Flag, Prediction, RowResult, TraceEvent

Stage = Literal["de", "dir"]
Side = Literal["EFFECT", "NULL", "UP", "DOWN"]
Words = dict[str, str]
Draws = Iterator[int]  # as many random integers below 2**16 as a row may need

PROMPT_TOKENS = 1_012
REBUTTAL_EVERY = 6  # one row in so many has a round of rebuttals
N_UNREADABLE: dict[Stage, int] = {"de": 31, "dir": 20}  # verdicts of the collapsed debate that cannot be read

_SIDES: dict[Stage, tuple[Side, Side]] = {"de": ("EFFECT", "NULL"), "dir": ("UP", "DOWN")}
_FALLBACK = {"de": Flag.DE_FALLBACK, "dir": Flag.DIR_FALLBACK}
_SIGNS = {"up": 1, "down": -1, None: 0}
_STANDS = {1: "with", -1: "against", 0: "none"}
_DRAWS = 64
# The numbers that judges tend to give, in percent.
_SPOKEN = np.array([5, 8, 12, 15, 18, 20, 22, 25, 28, 30, 32, 33, 35, 38, 40, 42, 45, 48, 50, 52, 55, 58, 60, 62, 65, 68,
                    70, 72, 75, 78, 80, 82, 85, 88, 92, 95])  # fmt: skip
# Judges give "low" reasons below the first probability, "high" ones from the second on.
_BANDS: dict[Stage, tuple[float, float]] = {"de": (0.4, 0.52), "dir": (0.5, 0.7)}

# How often a collapsed advocate writes one line with an option, the bare letter, or an option and then a brief, per
# thousand; the others write a brief. Then which option it names, in about the published shares.
_COLLAPSE: dict[Stage, tuple[int, int, int]] = {"de": (560, 90, 90), "dir": (800, 150, 10)}
_LETTERS: dict[Side, str] = {
    "EFFECT": "A" * 15 + "B" * 2 + "C" * 3,
    "NULL": "C" * 19 + "A",
    "UP": "A" * 10 + "C" * 9 + "B",
    "DOWN": "C" * 11 + "A" * 7 + "B" * 2,
}


@dataclass(frozen=True, slots=True)
class Judge:
    """How far a judge's log-odds follow the dossier, and how much they scatter."""

    weight: float
    scatter_de: float
    scatter_dir: float


ATTENTIVE = Judge(weight=1.0, scatter_de=0.5, scatter_dir=0.8)
DISTRACTED = Judge(weight=0.6, scatter_de=0.75, scatter_dir=1.0)


def debates(dossiers: Sequence[Dossier], rng: np.random.Generator) -> tuple[RowResult, ...]:
    """Return debates in which every advocate argues for its side; some have a round of rebuttals."""
    p_de, p_up = _judge(dossiers, ATTENTIVE, rng)
    draws = _draw_numbers(len(dossiers), rng)
    return tuple(map(_debate, dossiers, p_de.tolist(), p_up.tolist(), draws))


def collapsed_debates(dossiers: Sequence[Dossier], rng: np.random.Generator) -> tuple[RowResult, ...]:
    """Return debates as published: most advocates answer the multiple-choice question, and some verdicts cannot be read."""
    p_de, p_up = _judge(dossiers, DISTRACTED, rng)
    n = len(dossiers)
    readable: list[list[float | None]] = [p_de.tolist(), p_up.tolist()]
    for verdicts, unread in zip(readable, N_UNREADABLE.values(), strict=True):
        for i in rng.choice(n, unread, replace=False).tolist():
            verdicts[i] = None
    return tuple(map(_collapsed_debate, dossiers, *readable, _draw_numbers(n, rng)))


def _draw_numbers(n: int, rng: np.random.Generator) -> Iterator[Draws]:
    return map(iter, rng.integers(2**16, size=(n, _DRAWS)).tolist())


def _judge(dossiers: Sequence[Dossier], judge: Judge, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return P(DE) and P(up given DE) per row, rounded to the few dozen numbers that judges say."""
    features = np.array([_features(dossier) for dossier in dossiers])
    de, up = judge.weight * features.T
    de += -0.55 + judge.scatter_de * rng.standard_normal(len(dossiers))
    up += 0.65 + judge.scatter_dir * rng.standard_normal(len(dossiers))
    return _round_as_spoken(de), _round_as_spoken(up)


def _features(dossier: Dossier) -> tuple[float, float]:
    """Return the contribution of a dossier to the log-odds of DE, and of up given DE."""
    active = 0.0 if dossier.near_de is None else dossier.near_de - dossier.base_de
    upward = 0.0 if dossier.near_up is None else dossier.near_up - dossier.base_up
    de = 1.1 * abs(dossier.link) + (0.3 if dossier.program else -0.4) - 0.6 * dossier.clone + 2.0 * active
    return de, 0.8 * dossier.link + 0.4 * _SIGNS[dossier.expected] + 1.5 * upward


def _round_as_spoken(log_odds: Floats) -> Floats:
    """Return the probabilities, each rounded to the nearest number that a judge would say."""
    percent = 100 / (1 + np.exp(-log_odds))
    nearest: Floats = _SPOKEN[np.abs(percent[:, None] - _SPOKEN).argmin(axis=1)] / 100
    return nearest


def _debate(dossier: Dossier, p_de: float, p_up: float, draws: Draws) -> RowResult:
    words = words_of(dossier)
    transcript = _Transcript(draws)
    for stage, p in _by_stage(p_de, p_up):
        for side in _SIDES[stage]:
            transcript.add(stage, side, "brief", brief(side, dossier, words, draws))
        for side in _SIDES[stage] if stage == "de" and next(draws) % REBUTTAL_EVERY == 0 else ():
            transcript.add(stage, side, "rebuttal", rebuttal(side, words, draws), {"round": 1})
        transcript.add(stage, "JUDGE", "verdict", verdict(stage, p, words, draws), {"p": p, "fallback": False})
    return transcript.row(dossier, p_de, p_up)


def _collapsed_debate(dossier: Dossier, p_de: float | None, p_up: float | None, draws: Draws) -> RowResult:
    """Return where a probability is None, the verdict cannot be read and the base rate is used."""
    words = words_of(dossier)
    transcript = _Transcript(draws)
    flags = tuple(flag for flag, p in zip(_FALLBACK.values(), (p_de, p_up), strict=True) if p is None)
    used = dossier.base_de if p_de is None else p_de, dossier.base_up if p_up is None else p_up
    for stage, p in _by_stage(*used):
        for side in _SIDES[stage]:
            transcript.add(stage, side, "brief", _collapsed_brief(stage, side, dossier, words, draws))
        unread = _FALLBACK[stage] in flags
        text = option("ABCC"[next(draws) % 4], words) if unread else f"<prob>{round(100 * p)}</prob>"
        transcript.add(stage, "JUDGE", "verdict", text, {"p": p, "fallback": unread})
    return transcript.row(dossier, *used, flags)


def _by_stage(p_de: float, p_up: float) -> tuple[tuple[Stage, float], tuple[Stage, float]]:
    return ("de", p_de), ("dir", p_up)


def _collapsed_brief(stage: Stage, side: Side, dossier: Dossier, words: Words, draws: Draws) -> str:
    line, bare, both = _COLLAPSE[stage]
    letter = _LETTERS[side][next(draws) % len(_LETTERS[side])]
    form = next(draws) % 1000
    if form < line:
        return option(letter, words)
    if form < line + bare:
        return letter
    argued = brief(side, dossier, words, draws)
    return f"{option(letter, words)}\n\n{argued}" if form < line + bare + both else argued


class _Transcript:
    """The events of one row, each with plausible costs: a prompt of a thousand tokens, some reasoning, the text."""

    def __init__(self, draws: Draws) -> None:
        self._draws = draws
        self._events: list[TraceEvent] = []
        self._tokens = 0

    def add(self, stage: Stage, role: str, kind: str, content: str, meta: Mapping[str, Any] | None = None) -> None:
        written = len(content) // 4 + next(self._draws) % 500
        tokens, latency_ms = 1_050 + written, round(350 + 9.1 * written, 1)
        self._events.append(TraceEvent(stage, role, kind, content, tokens, latency_ms, meta or {}))
        self._tokens += tokens

    def row(self, dossier: Dossier, p_de: float, p_up: float, flags: tuple[Flag, ...] = ()) -> RowResult:
        prediction = Prediction(
            pair_id=f"{dossier.pert}_{dossier.gene}",
            prediction_up=round(p_de * p_up, 6),
            prediction_down=round(p_de * (1 - p_up), 6),
            p_de=p_de,
            p_up_given_de=p_up,
            p_source="trace",
            flags=flags,
            tokens=self._tokens,
            prompt_tokens=PROMPT_TOKENS,
            tool_calls=len(dossier.evidence),
        )
        return RowResult(prediction, tuple(self._events), dossier.evidence)


def words_of(dossier: Dossier) -> Words:
    """Return the words that fill in phrases, all from the dossier's evidence."""
    partner = dossier.partner or {}
    return {
        "pert": dossier.pert,
        "gene": dossier.gene,
        "topic": dossier.topic or "program in question",
        "program": dossier.program or "unlisted",
        "verb": "raises" if dossier.link > 0 else "lowers",
        "ref": dossier.passage or "",
        "cite": _most_citable(dossier),
        "base": f"{dossier.base_de:.0%}",
        "base_up": f"{dossier.base_up:.0%}",
        "near": f"{dossier.near_de or 0:.0%}",
        "partner": str(partner.get("symbol")),
        "score": str(partner.get("score")),
        "n": str(partner.get("n")),
        "de": str(partner.get("de")),
    }


def _most_citable(dossier: Dossier) -> str:
    if dossier.passage:
        return f"passage {dossier.passage}"
    if dossier.program:
        return f"the {dossier.program} program"
    return f"the record of {dossier.partner['symbol']}" if dossier.partner else "the base rate"


def brief(side: Side, dossier: Dossier, words: Words, draws: Draws) -> str:
    """Return three to six sentences that argue for `side`: both genes, one to four points from the dossier, a conclusion."""
    if side in ("EFFECT", "NULL"):
        phrases, points = PHRASES[side], _effect_points(dossier)
    else:
        phrases, points = PHRASES["DIRECTION"], _direction_points(dossier, 1 if side == "UP" else -1)
        words = words | _direction_words(side, dossier)
    count, turn = 1 + next(draws) % 4, next(draws) % 4
    if not points[0].startswith("link"):  # what is known of this very pair comes first; else any point may
        points = points[turn:] + points[:turn]
    opening, *middle, closing = (
        phrases[slot][next(draws) % len(phrases[slot])].format_map(words) for slot in ("open", *points[:count], "close")
    )
    return _format_brief(opening, middle, closing, words["gene"], next(draws) % 8)


def _effect_points(dossier: Dossier) -> list[str]:
    link = "link" if dossier.link else "nolink" if dossier.papers in ("ok", "empty") else "nopapers"
    kind = "clone" if dossier.clone else "program" if dossier.program else "unlisted"
    near = {None: "none", 0: "level", 1: "high", -1: "low"}[_compare_rates(dossier.near_de, dossier.base_de)]
    return [link, kind, f"near_{near}", "rates"]


def _direction_points(dossier: Dossier, sign: int) -> list[str]:
    near = _compare_rates(dossier.near_up, dossier.base_up)
    rates = 1 if dossier.base_up >= 0.5 else -1
    return [
        f"link_{_STANDS[dossier.link * sign]}" if dossier.link else "nolink",
        f"expect_{_STANDS[_SIGNS[dossier.expected] * sign]}",
        "near_none" if near is None else "near_level" if near == 0 else f"near_{_STANDS[near * sign]}",
        f"rates_{_STANDS[rates * sign]}",
    ]


def _compare_rates(rate: float | None, base: float) -> int | None:
    """1, 0 or −1 if a rate among the analogues is above, near or below the base rate; None without a rate."""
    return None if rate is None else 0 if abs(rate - base) < 0.03 else 1 if rate > base else -1


def _direction_words(side: Side, dossier: Dossier) -> Words:
    up = side == "UP"
    near_up = dossier.near_up or 0.0
    return {
        "rise": "rise" if up else "fall",
        "rises": "rises" if up else "falls",
        "higher": "higher" if up else "lower",
        "base_side": f"{dossier.base_up if up else 1 - dossier.base_up:.0%}",
        "near_side": f"{near_up if up else 1 - near_up:.0%}",
    }


def _format_brief(opening: str, middle: list[str], closing: str, gene: str, style: int) -> str:
    """Return a brief's text: mostly plain, sometimes with bold and bullets, as models write."""
    if style == 0:
        opening = opening.replace(gene, f"**{gene}**", 1)
    if style == 1:
        return f"**{opening}** " + " ".join([*middle, closing])
    if style == 2 and len(middle) > 1:
        return opening + "\n\n" + "\n".join(f"- {sentence}" for sentence in middle) + f"\n\n{closing}"
    return " ".join([opening, *middle, closing])


def rebuttal(side: Side, words: Words, draws: Draws) -> str:
    """Return two sentences that answer the other side's brief."""
    answer, point = REBUTTALS[side]
    return " ".join(options[next(draws) % len(options)].format_map(words) for options in (answer, point))


def verdict(stage: Stage, p: float, words: Words, draws: Draws) -> str:
    """Return a judge's reason and its number."""
    low, high = _BANDS[stage]
    band = "high" if p >= high else "low" if p < low else "middle"
    reasons = REASONS[stage, band]
    return f"{reasons[next(draws) % len(reasons)].format_map(words)}\n<prob>{round(100 * p)}</prob>"


def option(letter: str, words: Words) -> str:
    """Return the text of an advocate who answers the multiple-choice question instead of arguing."""
    return f"{letter}) {OPTIONS[letter].format_map(words)}"

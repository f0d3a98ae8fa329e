"""A rule set without a language model: typed evidence adds up to log-odds, by a table of weights
that anyone can read.

The weights were chosen by reasoning and not tuned to labels, with one exception that the table
states: the programs that were expected to go down have no weight, because on the challenge's
training labels they do not go down.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from scipy.special import expit, logit

from core.base.types import Evidence, Flag, Options, Pair, Prediction, RowResult, TraceEvent
from core.evidence.label_view import LabelView
from core.evidence.packs import PackName
from core.evidence.registry import packs_read_by, tool_named
from core.methods.base import BatchMethod, Context, WithoutModel

Task = Literal["P(DE)", "P(up | DE)"]
Subject = Literal["pert", "gene", ""]
Body = Mapping[str, Any]

TASKS: tuple[Task, Task] = ("P(DE)", "P(up | DE)")
_SUBJECTS: Mapping[Subject, str] = {"pert": "perturbation", "gene": "target"}

PRIOR_ROWS = 20.0  # pseudo-rows at the base rate with which a share from few rows is mixed
REGULATED_AT = 0.05  # adjusted p of a response to LPS
LARGEST_LOGFC = 3.0  # a larger response to LPS counts as this one
BARELY = 0.1  # mean expression, with and without LPS, below which a gene is hardly expressed


class Facts(NamedTuple):
    """What a rule may use beside its evidence: the pair's symbols and the base rates (None without
    labels in view)."""

    pert: str
    gene: str
    p_de: float | None
    p_up: float | None


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of the table.

    tool, subject: the evidence that the rule reads, about the perturbation, the gene, or neither.
    value: takes a number from its body, None if the rule does not apply. weight: log-odds per unit
    of value.
    """

    name: str
    task: Task
    tool: str
    subject: Subject
    weight: float
    value: Callable[[Body, Facts], float | None]
    why: str


def _shift_de(body: Body, facts: Facts) -> float | None:
    """Return the distance in log-odds from the base rate to a share of changed rows that is mixed
    with it."""
    return _shift(body["de"], body["n"], facts.p_de)


def _shift_up(body: Body, facts: Facts) -> float | None:
    """Return the same distance for the share of rows that go up, among rows with a known
    direction."""
    return _shift(body["up"], body["up"] + body["down"], facts.p_up)


def _shift(hits: int, rows: int, base: float | None) -> float | None:
    if base is None or not 0 < base < 1 or not rows:
        return None
    return float(logit((hits + PRIOR_ROWS * base) / (rows + PRIOR_ROWS)) - logit(base))


def _base_de(_: Body, facts: Facts) -> float | None:
    return _log_odds(facts.p_de)


def _base_up(_: Body, facts: Facts) -> float | None:
    return _log_odds(facts.p_up)


def _log_odds(share: float | None) -> float | None:
    return float(logit(share)) if share is not None and 0 < share < 1 else None


def _interaction(body: Body, facts: Facts) -> float | None:
    """Return the score of the interaction between the pair's two genes, in (0, 1]."""
    scores = [
        partner["score"] for partner in body["partners"] if _same(partner["symbol"], facts.gene)
    ]
    return max(scores) / 1000 if scores else None


def _known_regulation(body: Body, facts: Facts) -> float | None:
    """Return 1 if the perturbed gene is a regulator of the target."""
    listed = (*body["activators"], *body["repressors"], *body["unknown"])
    return 1.0 if any(_same(factor, facts.pert) for factor in listed) else None


def _inverted_sign(body: Body, facts: Facts) -> float | None:
    """Return −1 if the perturbed gene activates the target, 1 if it represses it: its loss does the
    opposite."""
    activates = any(_same(factor, facts.pert) for factor in body["activators"])
    represses = any(_same(factor, facts.pert) for factor in body["repressors"])
    return None if activates == represses else -1.0 if activates else 1.0


def _is_uncharacterised(body: Body, _: Facts) -> float | None:
    return 1.0 if body["uncharacterised"] else None


def _is_expected_up(body: Body, _: Facts) -> float | None:
    return 1.0 if body["expected"] == "up" else None


def _is_expected_down(body: Body, _: Facts) -> float | None:
    return 1.0 if body["expected"] == "down" else None


def _response_size(body: Body, _: Facts) -> float | None:
    return min(abs(body["logfc"]), LARGEST_LOGFC) if body["p_adj"] <= REGULATED_AT else None


def _is_barely_expressed(body: Body, _: Facts) -> float | None:
    return 1.0 if max(body["mean_lps"], body["mean_ctrl"]) < BARELY else None


def _same(symbol: str, other: str) -> bool:
    return symbol.casefold() == other.casefold()


RULES: tuple[Rule, ...] = (
    Rule("base rate", "P(DE)", "base_rates", "", 1.0, _base_de, "where nothing else is known"),
    Rule(
        "record of the perturbation",
        "P(DE)",
        "train_lookup",
        "pert",
        1.0,
        _shift_de,
        "how much it changed elsewhere",
    ),
    Rule(
        "record of the target",
        "P(DE)",
        "train_lookup",
        "gene",
        1.0,
        _shift_de,
        "how often it changed elsewhere",
    ),
    Rule(
        "record of partners",
        "P(DE)",
        "pathway_neighbours",
        "pert",
        0.5,
        _shift_de,
        "partners share part of a loss",
    ),
    Rule(
        "interaction of the pair",
        "P(DE)",
        "protein_interactions",
        "pert",
        0.6,
        _interaction,
        "the target is within reach",
    ),
    Rule(
        "known regulation",
        "P(DE)",
        "regulators",
        "gene",
        1.0,
        _known_regulation,
        "the perturbed gene controls the target",
    ),
    Rule(
        "uncharacterised target",
        "P(DE)",
        "gene_class",
        "gene",
        -0.5,
        _is_uncharacterised,
        "low counts, few known links",
    ),
    Rule(
        "stress or p53 program",
        "P(DE)",
        "gene_class",
        "gene",
        0.4,
        _is_expected_up,
        "many losses set these off",
    ),
    Rule(
        "response to LPS",
        "P(DE)",
        "lps_response",
        "gene",
        0.15,
        _response_size,
        "what is inducible moves more easily",
    ),
    Rule(
        "hardly expressed",
        "P(DE)",
        "lps_response",
        "gene",
        -0.4,
        _is_barely_expressed,
        "too few counts to call a change",
    ),
    Rule("base rate", "P(up | DE)", "base_rates", "", 1.0, _base_up, "where nothing else is known"),
    Rule(
        "record of the perturbation",
        "P(up | DE)",
        "train_lookup",
        "pert",
        1.0,
        _shift_up,
        "where it sent other targets",
    ),
    Rule(
        "record of the target",
        "P(up | DE)",
        "train_lookup",
        "gene",
        1.0,
        _shift_up,
        "where other losses sent it",
    ),
    Rule(
        "record of partners",
        "P(up | DE)",
        "pathway_neighbours",
        "pert",
        0.5,
        _shift_up,
        "partners share part of a loss",
    ),
    Rule(
        "sign of known regulation",
        "P(up | DE)",
        "regulators",
        "gene",
        1.2,
        _inverted_sign,
        "a loss inverts the sign",
    ),
    Rule(
        "stress or p53 program",
        "P(up | DE)",
        "gene_class",
        "gene",
        1.0,
        _is_expected_up,
        "stress and damage raise these",
    ),
    Rule(
        *(
            "ribosome or cell cycle program",
            "P(up | DE)",
            "gene_class",
            "gene",
            0.0,
            _is_expected_down,
        ),
        "expected down, but on the training labels they are not (cell cycle 19 up, 11 down), so"
        " without weight",
    ),
)
EVIDENCE_READ = tuple(dict.fromkeys((rule.tool, rule.subject) for rule in RULES))


class EvidenceRules(WithoutModel):
    """The rule set; it predicts all rows at once and calls no model."""

    name = "evidence_rules"
    version = 1
    about = (
        "A rule set: typed evidence adds up to log-odds by a table of weights chosen by reasoning."
        " No language model."
    )

    def packs_read(self, _options: Options) -> tuple[PackName, ...]:
        """Return the names of the packs that the rules' tools read."""
        return packs_read_by(tool_named(tool) for tool, _ in EVIDENCE_READ)

    def predict_batch(self, pairs: Sequence[Pair], context: Context) -> list[RowResult]:
        """Return one result per row, in order."""
        # a batch runs in a thread of its own, which has no event loop
        return asyncio.run(_predict_rows(pairs, context))


METHOD: BatchMethod = EvidenceRules()


class RuleScore(NamedTuple):
    """A rule's value on a row, None if the rule is silent; reason: why it is silent, else ""."""

    rule: Rule
    value: float | None
    reason: str

    @property
    def contribution(self) -> float:
        """Weight times value; 0 for a silent rule."""
        return 0.0 if self.value is None else self.rule.weight * self.value


def _apply_rule(rule: Rule, item: Evidence, facts: Facts) -> RuleScore:
    if item.status != "ok":
        return RuleScore(
            rule,
            None,
            (
                f"{item.status}: {item.source}"
                if item.status in ("offline", "error")
                else "nothing known"
            ),
        )
    value = rule.value(item.body, facts)
    return RuleScore(rule, value, "" if value is not None else "does not apply")


async def _predict_rows(pairs: Sequence[Pair], context: Context) -> list[RowResult]:
    return [await _predict_row(pair, context.view_of(pair), context) for pair in pairs]


async def _predict_row(pair: Pair, view: LabelView, context: Context) -> RowResult:
    evidence: dict[tuple[str, Subject], Evidence] = {}
    for tool, subject in EVIDENCE_READ:
        about = (pair.pert if subject == "pert" else None, pair.gene if subject == "gene" else None)
        evidence[tool, subject] = await tool_named(tool).run(*about, context.packs, view)
    facts = Facts(pair.pert, pair.gene, view.counts.p_de, view.counts.p_up_given_de)
    scored = [_apply_rule(rule, evidence[rule.tool, rule.subject], facts) for rule in RULES]
    p_de, p_up = (
        float(expit(sum(one.contribution for one in scored if one.rule.task == task)))
        for task in TASKS
    )
    without_base = [one.value is None for one in scored if one.rule.tool == "base_rates"]
    flags = tuple(
        flag
        for flag, silent in zip((Flag.UNCOVERED, Flag.UNCOVERED_DIR), without_base, strict=True)
        if silent
    )
    up = p_de * p_up
    prediction = Prediction(
        *(pair.pair_id, up, p_de - up, p_de, p_up, "trace"), flags, 0, 0, len(evidence)
    )
    meta = {"p_de": p_de, "p_up_given_de": p_up}
    event = TraceEvent(
        "rules", "RULE SET", "table", _table(scored, (p_de, p_up)), tokens=0, meta=meta
    )
    return RowResult(prediction, (event,), tuple(evidence.values()))


def _table(scored: Sequence[RuleScore], p: tuple[float, float]) -> str:
    """Return the table of weights with the row's values, one section for each probability."""
    lines = [
        "A rule set, not a model: weights were chosen by reasoning, values are of this row,"
        " log-odds add up."
    ]
    for task, probability in zip(TASKS, p, strict=True):
        ours = [one for one in scored if one.rule.task == task]
        lines += [
            "",
            task,
            f"{'weight':>7} × {'value':>7} = {'log-odds':>8}  rule",
            *map(_line, ours),
        ]
        lines.append(
            f"{'sum':>17} = {sum(one.contribution for one in ours):+8.3f}  {task} ="
            f" {probability:.6f}"
        )
    if any(one.value is None and one.rule.tool == "base_rates" for one in scored):
        lines += [
            "",
            "No base rate is in view, so log-odds start from 0 there, which stands for one half.",
        ]
    return "\n".join(lines)


def _line(one: RuleScore) -> str:
    rule = one.rule
    value = f"{'silent':>7}" if one.value is None else f"{one.value:+7.3f}"
    of_what = f" of the {_SUBJECTS[rule.subject]}" if rule.subject else ""
    subject = f"{rule.tool.replace('_', ' ')}{of_what}"
    reason = f" [{one.reason}]" if one.reason else ""
    return (
        f"{rule.weight:+7.2f} × {value} = {one.contribution:+8.3f}  {rule.name} ({subject}):"
        f" {rule.why}{reason}"
    )

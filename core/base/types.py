"""Frozen records that every room shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

Track = Literal["A", "B", "C"]
Options = Mapping[str, Any]  # of a method: name → value
JsonObject = dict[str, Any]  # plain data, as a JSON object holds it
# the mean of DE and DIR, or the mean over genes of each gene's own AUROC
HeadlineKind = Literal["mean", "macro"]
TRAIN = "train"  # the split whose labels a prediction may learn from
# the split of pairs that a person typed: rows of ad-hoc runs, which are none of the dataset's own
ASKED = "asked"
ASKED_HERE = "asked here"  # the origin of ad-hoc runs, of one row each
# The states of runs and other jobs, of any kind, that a process is on or was asked for.
LIVE_STATES: Final = ("waiting", "running", "pausing", "paused")
EvidenceStatus = Literal["ok", "empty", "error", "offline"]
ProbabilitySource = Literal["trace", "file", "none"]


class Label(StrEnum):
    """What a knockdown did to a target gene's expression."""

    UP = "up"
    DOWN = "down"
    NONE = "none"
    # changed, direction unknown: in cell lines of PerturbQA, whose directions are a file of their
    # own
    DE = "de"


class Flag(StrEnum):
    """What is odd about a row of a run; stored with the prediction and shown wherever the row
    is."""

    # a brief does not argue for its side: it answers the multiple-choice question, say
    ROLE_COLLAPSE = "role_collapse"
    # the judge of EFFECT against NULL could not be read; a base rate or constant stands in
    DE_FALLBACK = "de_fallback"
    DIR_FALLBACK = "dir_fallback"  # the same for UP against DOWN
    UNIFORM = "uniform_fallback"  # predictions of .333/.333: no answer at all
    # the trace's probabilities do not reproduce the file's predictions
    TRACE_DIFFERS = "trace_differs"
    # of an import: a text ends in another answer than the number beside it says
    ANSWER_DIFFERS = "answer_differs"
    # No labelled row is similar, or none with a direction: its label view's base rate stands in,
    # for both probabilities or for P(up | DE); the middle rank, .5, where a component is made of
    # ranks.
    UNCOVERED = "uncovered"
    UNCOVERED_DIR = "uncovered_dir"
    # a file of predicted expression lacks the pair: base rates stand in for both probabilities
    NOT_PREDICTED = "not_predicted"
    # a component of a fusion says nothing here: the others count alone
    PARTLY_COVERED = "partly_covered"
    # A run that answers one question only: the other one has no score, whatever number stands in
    # the columns.
    NO_DE = "no_de_score"
    NO_DIR = "no_dir_score"
    # no knowledge pack says anything of the perturbation or of the target gene
    NO_KNOWLEDGE = "no_knowledge"
    # a sample of SUMMER answers that the evidence is insufficient, which counts .5
    INSUFFICIENT = "insufficient_evidence"
    # a mean over fewer seeds than asked: the answers under the others could not be read
    FEWER_SEEDS = "fewer_seeds"
    # asked again with a dossier that a person changed: cards left out, or edited by hand
    DOSSIER_CHANGED = "dossier_changed"
    # of a reading: the answer about one of the row's texts could not be read, so that text has none
    UNREAD = "unread"


# What people read wherever a flag is shown or chosen.
FLAG_NAMES: Mapping[str, str] = MappingProxyType(
    {
        Flag.ROLE_COLLAPSE: "did not argue its side",
        Flag.DE_FALLBACK: "unreadable verdict on the effect",
        Flag.DIR_FALLBACK: "unreadable verdict on the direction",
        Flag.UNIFORM: "no answer (.333/.333)",
        Flag.TRACE_DIFFERS: "changed after its trace",
        Flag.ANSWER_DIFFERS: "text answers otherwise",
        Flag.UNCOVERED: "no neighbour",
        Flag.UNCOVERED_DIR: "no neighbour with a direction",
        Flag.NOT_PREDICTED: "not predicted by the model",
        Flag.PARTLY_COVERED: "a component is missing",
        Flag.NO_DE: "no score for an effect",
        Flag.NO_DIR: "no score for a direction",
        Flag.NO_KNOWLEDGE: "nothing known of a gene",
        Flag.INSUFFICIENT: "evidence called insufficient",
        Flag.FEWER_SEEDS: "fewer seeds",
        Flag.DOSSIER_CHANGED: "dossier changed by hand",
        Flag.UNREAD: "a reading could not be read",
    }
)

# Methods whose numbers are made of ranks: their order means something, their values are not
# probabilities.
# the method of runs whose numbers were computed elsewhere, on any scale
EXTERNAL_SCORE = "external_score"
# the methods of runs made from predicted expression: probabilities, or ranks
PREDICTED_EXPRESSION = "predicted_expression"
PREDICTED_EXPRESSION_RANKS = "predicted_expression_ranks"
RANK_METHODS = ("fusion", "recovered", EXTERNAL_SCORE, PREDICTED_EXPRESSION_RANKS)
# they read the texts of another run, and predict nothing
READING_METHODS: tuple[str, ...] = ("judge_rubric", "read_findings")
# the method of runs that ask about a row of a debate again, to see what moves its answers
ASKED_AGAIN = "debate_again"
# nobody here knows what they learned
MADE_ELSEWHERE = (EXTERNAL_SCORE, PREDICTED_EXPRESSION, PREDICTED_EXPRESSION_RANKS)
STAND_INS = (Flag.UNCOVERED, Flag.NOT_PREDICTED)  # of rows whose probabilities are both base rates
FALLBACKS = (
    Flag.DE_FALLBACK,
    Flag.DIR_FALLBACK,
    Flag.UNIFORM,
    Flag.UNCOVERED,
    Flag.UNCOVERED_DIR,
    Flag.NOT_PREDICTED,
)


@dataclass(frozen=True, slots=True)
class Pair:
    """One row of a dataset: does perturbing `pert` change the expression of `gene`? `label` is None
    if unknown."""

    pair_id: str
    pert: str
    gene: str
    label: Label | None
    split: str


@dataclass(frozen=True, slots=True)
class FileRows:
    """What an imported file says of the rows of a dataset. source: the import's id; pairs, lines:
    in file order."""

    source: str
    name: str
    pairs: Sequence[Pair]
    lines: Sequence[int]


class TraceEvent(NamedTuple):
    """One thing that was said, asked or found on the way to a prediction, in order.

    stage: which part of the method ("de", "dir", "seed 42", "react", "trace"); role: who ("EFFECT",
    "JUDGE", a tool's name); kind: what ("brief", "verdict", "thought", "tool_call", "observation",
    "answer", "text"). content is the text as it was, never interpreted. tokens and latency_ms are
    None if unknown. A named tuple, since there are millions.
    """

    stage: str
    role: str
    kind: str
    content: str
    tokens: int | None = None
    latency_ms: float | None = None
    meta: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class MarkedPassage:
    """A passage of a text of a row that decided a model's answer to a rubric.

    stage, role: of the text, "" of a whole row. rubric: a name.
    """

    stage: str
    role: str
    rubric: str
    answer: str
    text: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """One answer of one evidence tool. `body` is typed data; a failure is a status, never text.

    status: ok, empty, error or offline. view names the label view it was made under ("" if it saw
    no labels).
    """

    tool: str
    key: str
    status: EvidenceStatus
    source: str
    retrieved_at: datetime | None
    body: Mapping[str, Any]
    view: str = ""


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a run says about one pair; probabilities in [0, 1], None if missing.

    prediction_up and prediction_down are the submitted numbers. p_de and p_up_given_de come from
    the trace if both reproduce the submitted numbers within 2e-6 (p_source "trace"), else from
    their sum and ratio ("file"); p_up_given_de is None if the sum is 0. Counts of tokens and tool
    calls are None if unknown. A row of a reading has no numbers (p_source "none", see
    `row_of_reading`); nothing that scores or ranks predictions is given one.
    """

    pair_id: str
    prediction_up: float
    prediction_down: float
    p_de: float
    p_up_given_de: float | None
    p_source: ProbabilitySource
    flags: tuple[Flag, ...] = ()
    tokens: int | None = None
    prompt_tokens: int | None = None
    tool_calls: int | None = None


def row_of_reading(pair_id: str, flags: tuple[Flag, ...], tokens: int | None) -> Prediction:
    """Return what stands instead of a prediction in a row of a reading: all of its numbers are
    None, as nothing is predicted. tokens: of all calls, None if they are unknown."""
    none: Any = None
    return Prediction(pair_id, none, none, none, none, "none", flags, tokens, tool_calls=0)


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a language model behind a row: the JSON that was sent and the JSON that came
    back, without any key.

    key: the request's identity. stage and role: as in the trace event that it led to. cached:
    answered by the response cache, so that its tokens were spent before. error: what went wrong if
    it brought no answer, else "".
    """

    key: str
    stage: str
    role: str
    request: str
    reply: str
    cached: bool
    attempts: int
    latency_ms: float
    prompt_tokens: int
    completion_tokens: int
    reasoning_tokens: int
    error: str = ""


@dataclass(frozen=True, slots=True)
class RowResult:
    """A finished row: the prediction, how it came about, what evidence it saw, and the calls behind
    it."""

    prediction: Prediction
    events: tuple[TraceEvent, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    calls: tuple[Call, ...] = ()

    @property
    def pair_id(self) -> str:
        """The id of the predicted row."""
        return self.prediction.pair_id


@dataclass(frozen=True, slots=True)
class Failed:
    """A row that brought no prediction: the error's class, its message, and the calls that were
    made for it."""

    pair_id: str
    kind: str
    message: str
    calls: tuple[Call, ...] = ()


FinishedRow = RowResult | Failed


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """What is known of a run as a whole, in the store and in a bundle.

    origin: imported, simulated, run here or asked here (of one pair that a person typed).
    spec: plain data. parents: ids of runs. Counts are of rows. collapsed: rows with
    Flag.ROLE_COLLAPSE. tokens: what the rows cost, summed over those that know it, None if none
    does; tokens_unknown: rows that do not. spent_tokens: what the run paid for, answers from the
    cache left out. cause: why it stopped, "" if it did not. expected_calls: of a model, without
    retries. evaluation: of a run that is made from labels, how they were kept away and what other
    cuts of the folds would score (see `core.methods.base.DerivedMethod.evaluation`), None if that
    is not recorded.
    """

    id: str
    name: str
    method: str
    origin: str
    track: str | None
    model: str | None
    spec: Mapping[str, Any]
    parents: tuple[str, ...]
    status: str
    cause: str = ""
    total: int
    done: int
    failed: int
    fallbacks: int
    collapsed: int
    tokens: int | None
    tokens_unknown: int
    spent_tokens: int | None = None
    expected_calls: int | None = None
    evaluation: Mapping[str, Any] | None = None
    public_score: float | None = None
    note: str | None = None
    code_version: str
    created_at: datetime | None = field(default=None, compare=False)
    started_at: datetime | None = field(default=None, compare=False)
    finished_at: datetime | None = field(default=None, compare=False)

    @property
    def is_asked(self) -> bool:
        """Whether a person asked for its one row on the page Ask, or by the command."""
        return self.origin == ASKED_HERE

    @property
    def has_rank_scores(self) -> bool:
        """Whether the run's numbers are rank scores instead of probabilities."""
        return self.method in RANK_METHODS

    @property
    def is_reading(self) -> bool:
        """Whether the run reads the texts of another run; such a run has no predictions to score,
        compare or submit."""
        return self.method in READING_METHODS


RejectReason = Literal[
    "unknown id",
    "no gene symbol",
    "no single gene",
    "duplicate",
    "not a number",
    "out of range",
    "missing column",
    "bad label",
    "wrong encoding",
    "conflicting label",
    "wrong number of columns",
    "empty cell",
    "id mismatch",
    "not answered",
]


@dataclass(frozen=True, slots=True)
class Rejected:
    """A row of a file that could not be read: where, why (a short code) and in words what was found
    and expected."""

    file: str
    line: int
    reason: RejectReason
    detail: str

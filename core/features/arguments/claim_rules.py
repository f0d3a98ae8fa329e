"""Find claims of a text about two genes by rules: X activates, represses, regulates or binds Y, or acts in its pathway.

A claim is a subject, a relation and an object in one sentence, with genes spelled as in `symbols`. "Knockdown
of X lowers Y" claims that X activates Y. Questions, denials and doubts make no claim; "it" and "both" are not resolved.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from core.audit.rule_text import RuleText
from core.audit.text_symbols import Symbols

Relation = Literal["activates", "represses", "regulates", "binds", "acts with"]
RELATIONS: Final[tuple[Relation, ...]] = ("activates", "represses", "regulates", "binds", "acts with")
OPPOSITE: Final[Mapping[Relation, Relation]] = {"activates": "represses", "represses": "activates"}
SYMMETRIC: Final = frozenset({"binds", "acts with"})


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_STEMS: Final[Mapping[Relation, str]] = {  # of a verb; "acts with" has several words
    "activates": "activat|induc|upregulat|promot(?!er)|enhanc(?!er)|stimulat|increas|transactivat|boost|elevat"
    "|rais(?:es|ed|ing)|driv|rise|rose",
    "represses": "repress|inhibit|suppress|downregulat|block|silenc|reduc|decreas|lower|antagoni|dampen|diminish|impair"
    "|fall|fell|drops|dropp|declin",
    "regulates": "regulat|control|modulat|targets|targeted|target",
    "binds": "bind|bound|interact|coimmunoprecipitat",
}
_ENDINGS: Final = r"\w*(?<!ory)(?<!ive)(?<!ible)(?<!able)(?<!bility)"  # excludes adjectives: regulatory, repressive, inducible
_RELATION: Final = re.compile("|".join(f"(?P<{relation}>(?:{stems}){_ENDINGS}$)" for relation, stems in _STEMS.items()))
_AGENT: Final = re.compile(r"\w+(?:or|er)s?|targets?")  # a repressor of, an inducer of, a target of
_NOUN: Final = re.compile(r"\w+(?:ion|ment|ity)s?|increase|decrease|reduction|target|control|block")  # activation of X by Y
_ITSELF: Final = re.compile(r"rises?|rose|falls?|fell|drops|dropped|declin\w+")  # by itself, or upon a loss
_WHOSE: Final = _words("their its the these those such many all measured other")  # targets, not "X targets Y"
_CAUSES: Final = re.compile(r"lead\w*|led|caus\w+|result\w*|mediat\w+|driv\w+|dependent|induced|trigger\w*")
_SHARED: Final = _words("same common shared share shares sharing")  # X and Y share a pathway, X acts in the same pathway as Y
_SETS: Final = re.compile(r"pathways?|cascades?|process(?:es)?|program(?:me)?s?")
_SIGN: Final = {"positively": "activates", "negatively": "represses"}
_LOSS: Final = re.compile(
    r"knock-?down|knock-?out|kd|ko|loss|deplet\w+|silencing|delet\w+|absence|deficien\w+|ablat\w+|remov\w+|disrupt\w+|lack\w*|null"
    r"|inhibition|reduc(?:ed|tion|ing)|without|crispri"
)
_DENIAL: Final = re.compile(
    r"not|no|never|cannot|nor|neither|unlikely|without|fails?|failed|whether|if|little|lacks?|unclear|unknown|\w+n't|implausible"
)
_BE: Final = _words("is are was were be been being gets")
_JOINS: Final = _words(", / and or")
_CLAUSE: Final = _words("; : but while whereas although because since so")
_TOKEN: Final = re.compile(r"[^\W_][\w'./-]*[^\W_]|[^\W_]|[^\w\s]")
_UPON: Final = _words("upon after following when with in")
_VERBS_TOO: Final = _words("increase decrease control block target")
_BEFORE_VERBS: Final = _words("to can may will would could might should and")
_NEAR: Final = 7  # the most tokens between a verb and its genes


class Claim(NamedTuple):
    """A statement that one gene acts on another. In a symmetric relation the subject is the alphabetically first gene."""

    subject: str
    relation: Relation
    object: str


def is_answer(claim: Claim, pert: str, gene: str) -> bool:
    """Return whether a claim only answers its row's question: the perturbation acts on the target gene, or with it."""
    pair = (claim.subject, claim.object)
    return pair == (pert, gene) or (claim.relation in SYMMETRIC and pair == (gene, pert))


class _Token(NamedTuple):
    """A word in lower case, or a gene."""

    word: str
    gene: str = ""


def find_claims(text: str, symbols: Symbols) -> list[Claim]:
    """Return the claims of a text, each once, in the order of the text."""
    found: dict[Claim, None] = {}
    for sentence in RuleText(text, "").sentences:
        if not sentence.rstrip().endswith("?"):
            found.update(dict.fromkeys(_of_sentence(list(_tokens(sentence, symbols)))))
    return list(found)


def list_claims(text: str, symbols: Symbols) -> list[dict[str, str]]:
    """Return the claims of a text as the fields of their schema, without quotations."""
    return [{**claim._asdict(), "quote": ""} for claim in find_claims(text, symbols)]


def _tokens(sentence: str, symbols: Symbols) -> Iterator[_Token]:
    """Yield the words of a sentence. X-dependent, X/Y and X's are split into words."""
    for place, match in enumerate(_TOKEN.finditer(sentence)):
        word = match[0].removesuffix("'s")
        is_ion = sentence[match.end() : match.end() + 1] == "+"  # Ca2+
        gene = "" if is_ion else symbols.find(word, opens=place == 0)
        parts = re.split(r"([-/])", word) if not gene and re.search("[-/]", word) else [word]
        genes = [symbols.find(part, opens=place == 0) for part in parts]
        if len(parts) == 1 or not any(genes):
            yield _Token(word.lower().replace("-regulat", "regulat"), gene)
        else:
            yield from (_Token(part.lower(), gene) for part, gene in zip(parts, genes, strict=True) if part != "-")


def _of_sentence(tokens: Sequence[_Token]) -> Iterator[Claim]:
    if sum(token.gene != "" for token in tokens) < 2:
        return
    for at, token in enumerate(tokens):
        relation = _relation_at(tokens, at) if not token.gene else None
        if relation is None:
            continue
        start = max((i + 1 for i in range(at) if tokens[i].word in _CLAUSE), default=0)
        if any(_DENIAL.fullmatch(each.word) for each in tokens[max(start, at - _NEAR) : at] if not each.gene):
            continue
        yield from _of_set(tokens, at, start) if relation == "acts with" else _of_verb(tokens, at, start, relation)


def _relation_at(tokens: Sequence[_Token], at: int) -> Relation | None:
    word = tokens[at].word
    if word in _SHARED:
        return "acts with" if any(_SETS.fullmatch(token.word) for token in tokens[at + 1 : at + 4] if not token.gene) else None
    match = _RELATION.match(word)
    if match is None:
        return None
    if match.lastgroup == "regulates" and at and tokens[at - 1].word in _SIGN:
        return _SIGN[tokens[at - 1].word]  # type: ignore[return-value]
    return match.lastgroup  # type: ignore[return-value]


def _of_set(tokens: Sequence[_Token], at: int, start: int) -> Iterator[Claim]:
    """Yield the claims that X and Y act in the same pathway."""
    before = _genes_before(tokens, at, start)
    link = next((i for i in range(at + 1, min(len(tokens), at + 6)) if tokens[i].word in ("as", "with")), None)
    after = _genes_after(tokens, link + 1) if link is not None else []
    pairs = [(a, b) for a in before for b in after] if after else [(a, b) for a in before[:1] for b in before[1:]]
    yield from (_claim(tokens[a].gene, "acts with", tokens[b].gene) for a, b in pairs if tokens[a].gene != tokens[b].gene)


def _of_verb(tokens: Sequence[_Token], at: int, start: int, relation: Relation) -> Iterator[Claim]:
    """Yield the claims of a verb, or of a noun made from it, at position `at` of a sentence. start: the start of its clause."""
    before, after = _genes_before(tokens, at, start), _genes_after(tokens, at + 1)
    word, following = tokens[at].word, [token.word for token in tokens[at + 1 : at + 1 + _NEAR]]
    is_done = word.endswith(("ed", "bound", "driven")) and any(token.word in _BE for token in tokens[max(start, at - 2) : at])
    if relation in SYMMETRIC and following[:1] == ["between"]:
        subjects, objects = after[:1], after[1:]
    elif relation in SYMMETRIC and not after and not _NOUN.fullmatch(word):  # X and Y interact
        subjects, objects = before[:1], before[1:]
    elif (is_done and "by" in following[:3]) or (word.startswith("target") and following[:1] == ["of"]):
        subjects, objects = after, before
    elif _AGENT.fullmatch(word) and following[:1] == ["of"]:
        subjects, objects = before, after
    elif _NOUN.fullmatch(word) and following[:1] == ["of"]:
        subjects, objects = _causes(tokens, at, start), after
    elif _is_noun(word, tokens, at):
        return
    elif relation not in SYMMETRIC and (is_done or set(following[:1]) & _UPON):  # Y falls upon loss of X
        subjects, objects = (after, before) if set(following[:1]) & _UPON and _is_lost(tokens, after) else ([], [])
    elif _ITSELF.fullmatch(word):
        return
    else:
        subjects, objects = before, after
    flips = _is_lost(tokens, subjects)
    for subject in subjects:
        for object_ in objects:
            a, b = tokens[subject].gene, tokens[object_].gene
            if a != b:
                yield _claim(a, OPPOSITE.get(relation, relation) if flips else relation, b)


def _claim(subject: str, relation: Relation, object_: str) -> Claim:
    if relation in SYMMETRIC:
        subject, object_ = sorted((subject, object_))
    return Claim(subject, relation, object_)


def _genes_before(tokens: Sequence[_Token], at: int, start: int) -> list[int]:
    """Return the positions of the nearest gene before `at` and of the genes listed with it."""
    nearest = next((i for i in range(at - 1, max(start, at - _NEAR) - 1, -1) if tokens[i].gene), None)
    if nearest is None:
        return []
    found, i = [nearest], nearest - 1
    while i >= start and (tokens[i].gene or tokens[i].word in _JOINS):
        found += [i] if tokens[i].gene else []
        i -= 1
    are_objects = any(_is_verb(token) for token in tokens[max(start, i - 3) : i + 1])  # W induces X, and Y does Z
    return found[:1] if are_objects else found[::-1]


def _genes_after(tokens: Sequence[_Token], start: int) -> list[int]:
    """Return the positions of the next gene in the clause and of the genes listed with it."""
    ends = next((i for i in range(start, len(tokens)) if tokens[i].word in _CLAUSE), len(tokens))
    nearest = next((i for i in range(start, min(ends, start + _NEAR)) if tokens[i].gene), None)
    if nearest is None:
        return []
    found, i = [nearest], nearest + 1
    while i < ends and (tokens[i].gene or tokens[i].word in _JOINS):
        found += [i] if tokens[i].gene else []
        i += 1
    return found[:-1] if len(found) > 1 and i < ends and _is_verb(tokens[i]) else found


def _is_verb(token: _Token) -> bool:
    return not token.gene and _RELATION.match(token.word) is not None and _NOUN.fullmatch(token.word) is None


def _causes(tokens: Sequence[_Token], at: int, start: int) -> list[int]:
    """Return the subjects of a noun: activation of Y by X, X-dependent activation of Y, X leads to activation of Y."""
    by = next((i for i in range(at + 1, min(len(tokens), at + 2 * _NEAR)) if tokens[i].word == "by"), None)
    if by is not None:
        return _genes_after(tokens, by + 1)
    says_so = any(_CAUSES.fullmatch(token.word) for token in tokens[max(start, at - _NEAR) : at] if not token.gene)
    return _genes_before(tokens, at, start) if says_so else []


def _is_noun(word: str, tokens: Sequence[_Token], at: int) -> bool:
    if word == "targets":
        return at > 0 and tokens[at - 1].word in _WHOSE
    return _NOUN.fullmatch(word) is not None and not _is_base(word, tokens, at)


def _is_base(word: str, tokens: Sequence[_Token], at: int) -> bool:
    """Return whether a word that could be a noun is a verb here: "Y is said to increase Z"."""
    before = tokens[at - 1].word if at else ""
    return word in _VERBS_TOO and (before in _BEFORE_VERBS or before.endswith("ly"))


def _is_lost(tokens: Sequence[_Token], genes: Sequence[int]) -> bool:
    """Return whether a text is about the loss of these genes: knockdown of X, X knockdown, without X."""
    if not genes:
        return False
    around = [*tokens[max(0, genes[0] - 3) : genes[0]], *tokens[genes[-1] + 1 : genes[-1] + 2]]
    return any(_LOSS.fullmatch(token.word) for token in around if not token.gene)

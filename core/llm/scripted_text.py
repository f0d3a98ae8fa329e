"""What the scripted server says: text in the format that a prompt asks for, drawn from a hash of the request.

It knows no biology. The same request always gets the same answer, and its briefs say that no model wrote them.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# A word with a capital or a digit; mouse and human symbols have one.
_SYMBOL = r"(?=[\w.-]*[A-Z0-9])(\w[\w.-]*\w)"
_BETWEEN = r"[\s:=*`'\"(]{1,6}"
_PERTURBED = re.compile(
    rf"(?i:\b(?:perturbation|perturbed gene|pert|knock(?:down|out) of|knocking (?:down|out)|perturbing){_BETWEEN}){_SYMBOL}"
)
_MEASURED = re.compile(
    rf"(?i:\b(?:target gene|measured gene|target|gene|expression of|effect on|affects?|affecting){_BETWEEN}){_SYMBOL}"
)
_WITH_DIGIT = re.compile(r"\b(?=\w*\d)[A-Z0-9]\w{2,}\b")
_NO_SYMBOLS = frozenset({"In", "The", "This", "Is", "It", "DE", "LPS", "CRISPRi", "EFFECT", "NULL", "UP", "DOWN"})
_OPTION = re.compile(r"^\W{0,3}([A-Z])[).:]", re.MULTILINE)
_EXAMPLE = re.compile(r"<answer>([A-Z])</answer>")
# Ways to cut a text into tokens, in which a letter after ">" stands alone, behind the ">", or before "</".
_CUTS = tuple(map(re.compile, (r"\s?\w+|[^\w\s]+|\s+", r"[\s>]?\w+|[^\w\s>]+|[>\s]", r"\s?\w+(?:</)?|[^\w\s]+|\s+")))
_ODD_ANSWERS = (
    "It could be A or B, and I would rather not say which.",
    "<answer>perhaps</answer>",
    "<prob>high</prob>",
    "The evidence is mixed.",
)
_FILLERS = ("The", "**", "I", "\n", "We", "This", "Since", "Given", "</", "-", "...", "Based", "It", "N", "None", "Both")


@dataclass(frozen=True, slots=True)
class Ask:
    """A request as far as an answer depends on it: what stands in its system and user messages, and its seeds."""

    prompt: str
    identity: str

    def draw(self, what: str) -> float:
        """A number in [0, 1) that depends on the request and on `what` alone."""
        digest = hashlib.sha256(f"{self.identity}\n{what}".encode()).digest()
        return int.from_bytes(digest[:7]) / 2**56


def ask_of(body: Mapping[str, Any], seed: int) -> Ask:
    """The Ask of a request's body, for a server with this seed."""
    messages = [(message["role"], str(message["content"])) for message in body["messages"]]
    prompt = "\n".join(content for role, content in messages if role != "assistant")
    return Ask(prompt, json.dumps([seed, body.get("seed"), messages]))


def by_prompt(ask: Ask) -> str:
    """<prob>NN</prob>, a letter in <answer>, "Answer: letter", or a brief: whichever the prompt shows last."""
    shown = max(_FORMATS, key=lambda mark: ask.prompt.lower().rfind(mark))
    if shown not in ask.prompt.lower():
        return brief(*genes(ask.prompt))
    return _FORMATS[shown](ask)


def wrong_format(ask: Ask) -> str:
    """A text that holds no answer in any format."""
    return _ODD_ANSWERS[int(len(_ODD_ANSWERS) * ask.draw("odd"))]


def letters(prompt: str) -> tuple[str, ...]:
    """The letters that a prompt offers, as "A)" at the start of a line or inside <answer>; A, B and C where it offers none."""
    for pattern in (_OPTION, _EXAMPLE):
        offered = sorted(set(pattern.findall(prompt)))
        if len(offered) > 1:
            return tuple(offered)
    return ("A", "B", "C")


def odds(ask: Ask) -> dict[str, float]:
    """The probability of each letter, which sum to 1; what the log-probabilities say."""
    weights = {letter: math.exp(5 * ask.draw(f"odds {letter}")) for letter in letters(ask.prompt)}
    return {letter: weight / sum(weights.values()) for letter, weight in weights.items()}


def letter(ask: Ask) -> str:
    """A letter, sampled by the odds."""
    left = ask.draw("sample")
    for name, share in odds(ask).items():
        left -= share
        if left < 0:
            return name
    return max(odds(ask))


def genes(prompt: str) -> tuple[str, str]:
    """The perturbed and the measured gene, as well as they can be made out."""
    guesses = (*_WITH_DIGIT.findall(prompt), "the perturbed gene", "the measured gene")
    perturbed = next(_symbols(_PERTURBED, prompt), guesses[0])
    measured = (name for name in (*_symbols(_MEASURED, prompt), *guesses) if name != perturbed)
    return perturbed, next(measured)


def _symbols(pattern: re.Pattern[str], prompt: str) -> Iterator[str]:
    return (name for name in pattern.findall(prompt) if name not in _NO_SYMBOLS)


def brief(perturbed: str, measured: str) -> str:
    """Four sentences that name both genes and take no side but the assigned one."""
    return (
        f"This is a scripted brief on {perturbed} and {measured}; no model wrote it. "
        f"The dossier was read for links between {perturbed} and {measured}, and for their neighbours. "
        f"Where {perturbed} acts, its partners and programmes bear on how {measured} responds. "
        "On these grounds the assigned side is upheld."
    )


def tokens(text: str) -> list[str]:
    """The text cut into tokens, as /tokenize counts them."""
    return _CUTS[0].findall(text)


def pieces(text: str, ask: Ask) -> list[str]:
    """The text cut into tokens as an answer gives them: one way or another, to see that it does not matter."""
    return _CUTS[int(len(_CUTS) * ask.draw("cut"))].findall(text)


def logprobs(said: Sequence[str], ask: Ask, top: int) -> list[dict[str, Any]]:
    """One entry a token in OpenAI's form; at a token that carries an answer letter, the odds of all letters."""
    shares = odds(ask)
    entries = []
    before = ""
    for token in said:
        answered = re.fullmatch(r"(\W*)([A-Z])(\W*)", token)
        if answered and answered[2] in shares and re.search(r"(?:<answer>?|Answer:)$", before):
            options = {f"{answered[1]}{name}{answered[3]}": 0.98 * share for name, share in shares.items()}
        else:
            options = {token: 0.98}
        entries.append(_entry(token, options, top))
        before = (before + token)[-len("<answer>") :]
    return entries


def _entry(token: str, options: Mapping[str, float], top: int) -> dict[str, Any]:
    rest = {name: 0.02 / 2 ** (i + 1) for i, name in enumerate(_FILLERS) if name not in options}
    ranked = sorted({**options, **rest}.items(), key=lambda item: -item[1])[:top]
    return {
        "token": token,
        "logprob": math.log(options[token]),
        "bytes": list(token.encode()),
        "top_logprobs": [{"token": name, "logprob": math.log(share), "bytes": list(name.encode())} for name, share in ranked],
    }


_FORMATS: Mapping[str, Callable[[Ask], str]] = {
    "<prob>": lambda ask: f"<prob>{round(100 * ask.draw('prob'))}</prob>",
    "<answer>": lambda ask: f"<answer>{letter(ask)}</answer>",
    "answer:": lambda ask: f"Answer: {letter(ask)}",
}

"""The texts of the scripted server: in the format that a prompt asks for, drawn from a hash of the request.

They hold no biology. Equal requests get equal texts, and every brief says that no model wrote it.
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
_NOT_SYMBOLS = frozenset({"In", "The", "This", "Is", "It", "DE", "LPS", "CRISPRi", "EFFECT", "NULL", "UP", "DOWN"})
_OPTION = re.compile(r"^\W{0,3}([A-Z])[).:]", re.MULTILINE)
_WORDS = re.compile(r"<answer>([a-z][a-z ]+)</answer>")
_SUMMARISED = re.compile(r"^Gene: (\S+)$", re.MULTILINE)
_GUIDED = re.compile(r"^(\d)\. ", re.MULTILINE)
_END_OF_TEXT = re.compile(r"</text-[0-9a-f]{8}>")  # of a text that a rubric asks about: what it says is no format
_TEXT = re.compile(r"<text-([0-9a-f]{8})>\n(.*?)\n</text-\1>", re.DOTALL)
_SPEECH = re.compile(r"^([A-Z_]+):\n(.*?)(?=^[A-Z_]+:\n|\Z)", re.MULTILINE | re.DOTALL)
_SENTENCE = re.compile(r"[^.!?\n]{1,400}[.!?]?")
_PLAIN_CLAIM = re.compile(rf"\b{_SYMBOL} (activates|represses|regulates|binds) {_SYMBOL}")
_EXAMPLE = re.compile(r"<answer>([A-Z])</answer>")
# Three ways to cut a text into tokens: a letter after ">" is a token of its own, begins with ">", or ends with "</".
_CUTS = tuple(map(re.compile, (r"\s?\w+|[^\w\s]+|\s+", r"[\s>]?\w+|[^\w\s>]+|[>\s]", r"\s?\w+(?:</)?|[^\w\s]+|\s+")))
_ODD_ANSWERS = (
    "It could be A or B, and I would rather not say which.",
    "<answer>perhaps</answer>",
    "<prob>high</prob>",
    "The evidence is mixed.",
)
_FILLERS = ("The", "**", "I", "\n", "We", "This", "Since", "Given", "</", "-", "...", "Based", "It", "N", "None", "Both")


@dataclass(frozen=True, slots=True)
class ScriptedPrompt:
    """The parts of a request that its answer depends on. text: of the system and user messages. identity: messages and seeds."""

    text: str
    identity: str

    def draw(self, what: str) -> float:
        """Return a pseudo-random number in [0, 1) that depends only on the request and on `what`."""
        digest = hashlib.sha256(f"{self.identity}\n{what}".encode()).digest()
        return int.from_bytes(digest[:7]) / 2**56


def read_prompt(body: Mapping[str, Any], seed: int) -> ScriptedPrompt:
    """Return the prompt of a request's body, for a server with this seed."""
    messages = [(message["role"], str(message["content"])) for message in body["messages"]]
    text = "\n".join(content for role, content in messages if role != "assistant")
    return ScriptedPrompt(text, json.dumps([seed, body.get("seed"), messages]))


def write_answer(prompt: ScriptedPrompt) -> str:
    """<prob>NN</prob>, a letter or words in <answer>, "Answer: letter", or prose: the format that the prompt shows last.

    Prose is a summary of the gene that a line of the prompt names alone, else a brief.
    """
    asked = _asked_at_end(prompt.text).lower()
    shown = max(_FORMATS, key=asked.rfind)
    if shown not in asked:
        gene = _SUMMARISED.search(prompt.text)
        return write_summary(gene[1]) if gene else write_brief(*find_genes(prompt.text))
    return _FORMATS[shown](prompt)


def write_wrong_format(prompt: ScriptedPrompt) -> str:
    """Return a text without an answer in any format."""
    return _ODD_ANSWERS[int(len(_ODD_ANSWERS) * prompt.draw("odd"))]


def answer_letters(prompt: str) -> tuple[str, ...]:
    """Return the letters that a prompt offers, as "A)" at a line's start or inside <answer>; A, B and C if it offers none."""
    for pattern in (_OPTION, _EXAMPLE):
        letters = sorted(set(pattern.findall(_asked_at_end(prompt))))
        if len(letters) > 1:
            return tuple(letters)
    return ("A", "B", "C")


def _asked_at_end(prompt: str) -> str:
    """Return what a prompt asks behind the text that a rubric is about; the whole of any other prompt."""
    return _END_OF_TEXT.split(prompt)[-1]


def scripted_probabilities(prompt: ScriptedPrompt) -> dict[str, float]:
    """Return the probability of each letter; they sum to 1 and are what the log-probabilities hold."""
    weights = {letter: math.exp(5 * prompt.draw(f"odds {letter}")) for letter in answer_letters(prompt.text)}
    return {letter: weight / sum(weights.values()) for letter, weight in weights.items()}


def draw_letter(prompt: ScriptedPrompt) -> str:
    """Return a letter, drawn by its probability."""
    left = prompt.draw("sample")
    for name, share in scripted_probabilities(prompt).items():
        left -= share
        if left < 0:
            return name
    return max(scripted_probabilities(prompt))


def find_genes(prompt: str) -> tuple[str, str]:
    """Return the perturbed and the measured gene that a prompt seems to be about."""
    guesses = (*_WITH_DIGIT.findall(prompt), "the perturbed gene", "the measured gene")
    perturbed = next(_symbols(_PERTURBED, prompt), guesses[0])
    measured = (name for name in (*_symbols(_MEASURED, prompt), *guesses) if name != perturbed)
    return perturbed, next(measured)


def _symbols(pattern: re.Pattern[str], prompt: str) -> Iterator[str]:
    return (name for name in pattern.findall(prompt) if name not in _NOT_SYMBOLS)


def write_brief(perturbed: str, measured: str) -> str:
    """Return four sentences that name both genes and uphold the assigned side."""
    return (
        f"This is a scripted brief on {perturbed} and {measured}; no model wrote it. "
        f"The dossier was read for links between {perturbed} and {measured}, and for their neighbours. "
        f"Where {perturbed} acts, its partners and programmes bear on how {measured} responds. "
        "On these grounds the assigned side is upheld."
    )


def write_summary(gene: str) -> str:
    """Return two sentences on one gene."""
    return (
        f"This is a scripted summary of {gene}; no model wrote it. "
        f"The entries on {gene} were read, and what stands in them is to be read there."
    )


def _write_answer_tag(prompt: ScriptedPrompt) -> str:
    """Return a letter in <answer>, or one of the words that the prompt offers there, after a line for each guided question.

    Below the letter a sentence of the text that is asked about, where the prompt wants one.
    """
    words = sorted(set(_WORDS.findall(_asked_at_end(prompt.text))))
    if len(words) < 2:
        return f"<answer>{draw_letter(prompt)}</answer>{_write_passage(prompt)}"
    guided = [f"{number}. A scripted answer, which no model gave." for number in _GUIDED.findall(prompt.text)]
    return "\n".join((*guided, f"<answer>{words[int(len(words) * prompt.draw('word'))]}</answer>"))


def _write_passage(prompt: ScriptedPrompt) -> str:
    """Return a drawn sentence of the text that the prompt is about, in <passage>; "" where none is asked for."""
    about = _TEXT.search(prompt.text)
    if about is None or "<passage>" not in _asked_at_end(prompt.text):
        return ""
    sentences = [each for found in _SENTENCE.findall(about[2]) if (each := found.strip())] or [""]
    return f"\n<passage>{sentences[int(len(sentences) * prompt.draw('passage'))]}</passage>"


def tokenize(text: str) -> list[str]:
    """Return the tokens of a text, as /tokenize counts them."""
    return _CUTS[0].findall(text)


def tokenize_answer(text: str, prompt: ScriptedPrompt) -> list[str]:
    """Return the tokens of an answer, cut in one of three ways, since the way of cutting must not matter to readers."""
    return _CUTS[int(len(_CUTS) * prompt.draw("cut"))].findall(text)


def write_logprobs(tokens: Sequence[str], prompt: ScriptedPrompt, top: int) -> list[dict[str, Any]]:
    """Return one entry per token in OpenAI's form; a token that holds an answer letter has the probabilities of all letters."""
    shares = scripted_probabilities(prompt)
    entries = []
    before = ""
    for token in tokens:
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


def _write_points(prompt: ScriptedPrompt) -> str:
    """First sentences of two sides of the debate that the prompt is about, as points: the second side answers the first, which
    the judge takes up."""
    about = _TEXT.search(prompt.text)
    spoken = _SPEECH.findall(about[2]) if about else []
    first = {who: next((each.strip() for each in _SENTENCE.findall(said) if each.strip()), "") for who, said in reversed(spoken)}
    sides = [who for who in dict.fromkeys(who for who, _ in spoken) if who != "JUDGE"][:2]
    points = [{"side": side, "point": first[side], "answer": "", "verdict": ""} for side in sides]
    if len(points) > 1:
        points[0] |= {"answer": points[1]["point"], "verdict": first.get("JUDGE", "")}
    return json.dumps({"points": points})


def _write_claims(prompt: ScriptedPrompt) -> str:
    """Return the plainest claims of the text that the prompt quotes: a symbol, a relation in the present tense, a symbol."""
    about = _TEXT.search(prompt.text)
    claims = [
        {"subject": found[1], "relation": found[2], "object": found[3], "quote": sentence.strip()}
        for sentence in (_SENTENCE.findall(about[2]) if about else ())
        for found in _PLAIN_CLAIM.finditer(sentence)
    ]
    return json.dumps({"claims": claims})


_FORMATS: Mapping[str, Callable[[ScriptedPrompt], str]] = {
    "<prob>": lambda prompt: f"<prob>{round(100 * prompt.draw('prob'))}</prob>",
    "<answer>": _write_answer_tag,
    '{"points"': _write_points,
    '{"claims"': _write_claims,
    '{"cells"': lambda _: '{"cells": "", "organism": "", "stimulus": "", "authors": "", "accession": ""}',
    "answer:": lambda prompt: f"Answer: {draw_letter(prompt)}",
}

"""Claims of the simulated demo: sentences of which the claims were labelled by hand are put into 200 of its briefs.

Its own prose claims nothing about two genes beyond answers to the question. A third of the claims is in packs, a third is there
the other way round where a pack has directions, and the rest is in none.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from core.actions import readings
from core.actions.claims import claims_of_run
from core.actions.demo import make_demo
from core.actions.imports import import_upload
from core.actions.reading_settings import ReadingSettings
from core.actions.workspace import Workspace, open_workspace
from core.audit.claim_checks import ClaimsRequest
from core.audit.rules.claims import RULE
from core.config import Settings
from core.datasets import demo, demo_debate, demo_world
from core.datasets.demo_world import SplitSize
from core.scoring.claim_counts import RunClaims
from core.store import rubrics, runs
from soak.conftest import Record
from tests.fakes.scripted import Script, ScriptedPrompt, serving, write_reply

RUN, BRIEFS = "simulated debate", 200
_TEXT = re.compile(r"<text-([0-9a-f]{8})>\n(.*?)\n</text-\1>", re.DOTALL)
# By hand: the last seven are what rules are bound to get wrong, four of them by missing the claim, three by finding one.
SENTENCES: dict[str, str] = {
    "{a} strongly promotes the expression of {b} at baseline.": "activates",
    "{b} transcription is driven by {a} in most of these cells.": "activates",
    "Knockdown of {a} is known to lower {b}.": "activates",
    "{a}-dependent induction of {b} is well described.": "activates",
    "{b} mRNA falls upon loss of {a}.": "activates",
    "It is established that {a} suppresses {b}.": "represses",
    "{a} is a potent inhibitor of {b}.": "represses",
    "Depletion of {a} raises {b}, as several groups saw.": "represses",
    "Repression of {b} by {a} was measured twice.": "represses",
    "{b} is a direct target of {a}.": "regulates",
    "{a} modulates {b} during the response.": "regulates",
    "{a} binds to {b} in the nucleus.": "binds",
    "{a} and {b} physically interact.": "binds",
    "{a} acts in the same pathway as {b}.": "acts with",
    "{a} and {b} share a signalling pathway.": "acts with",
    "{a} does not regulate {b}.": "",
    "Does {a} activate {b}? Nobody has looked.": "",
    "{a} and {b} are both expressed here.": "",
    "There is no evidence that {a} represses {b}.": "",
    "{a} is abundant; it activates {b}.": "activates",
    "{b} needs {a} to be transcribed at all.": "activates",
    "{a} switches {b} off.": "represses",
    "The product of {a} sits on the promoter of {b}.": "binds",
    "The report that {a} activates {b} was withdrawn.": "",
    "One might think that {a} represses {b}; the data rule this out.": "",
    "Older models in which {a} activates {b} were abandoned.": "",
}


class Planted(NamedTuple):
    """A claim that was put into a brief, and what the packs will know of it."""

    claim: tuple[str, str, str]
    status: str
    quote: str


class Planter:
    """Appends two or three sentences to each brief, and remembers what they claim."""

    def __init__(self, genes: list[str]) -> None:
        self._rng, self._genes, self._write = random.Random(0), genes, demo_debate.brief
        self.of_text: dict[str, list[Planted]] = {}
        self.known: dict[frozenset[str], str] = {}  # each pair of genes is in one claim

    def brief(self, *arguments: Any) -> str:
        said = [self._plant() for _ in range(self._rng.choice((2, 3)))]
        text = " ".join([self._write(*arguments), *(sentence for sentence, _ in said)])
        self.of_text[text] = [planted for _, planted in said if planted is not None]
        return text

    def _plant(self) -> tuple[str, Planted | None]:
        a, b = next(pair for pair in self._pairs() if frozenset(pair) not in self.known)
        template, relation = self._rng.choice(list(SENTENCES.items()))
        sentence, status = template.format(a=a, b=b), self._rng.choice(("supported", "contradicted", "not known"))
        if status == "contradicted" and relation not in ("activates", "represses"):
            status = "not known"
        self.known[frozenset((a, b))] = f"{a}|{b}|{relation}|{status}"
        if not relation:
            return sentence, None
        subject, object_ = sorted((a, b)) if relation in ("binds", "acts with") else (a, b)
        return sentence, Planted((subject, relation, object_), status, sentence)

    def _pairs(self) -> Iterator[list[str]]:
        while True:
            yield self._rng.sample(self._genes, 2)

    def packs(self) -> Iterator[tuple[str, Any]]:
        """Yield the content of each pack, by its name."""
        signs: dict[str, int] = {}
        edges, pathways = [], dict[str, list[str]]()
        for number, entry in enumerate(self.known.values()):
            a, b, relation, status = entry.split("|")
            if status == "not known" or not relation:
                continue
            if relation == "binds":
                edges.append([a, b, 700])
            elif relation == "acts with":
                for gene in (a, b):
                    pathways.setdefault(gene, []).append(f"simulated pathway {number}")
            else:
                signs[f"{a}|{b}"] = (1 if relation != "represses" else -1) * (1 if status == "supported" else -1)
        yield "regulation", {"meta": {"source": "simulated"}, "pairs": signs}
        yield "network", edges
        yield "pathways", pathways

    def read(self, prompt: ScriptedPrompt) -> str:
        """Answer as a reader that misses every tenth claim and invents the quotation of another tenth."""
        about = _TEXT.search(prompt.text)
        if about is None:
            return write_reply(prompt)
        claims = []
        for number, (claim, _, quote) in enumerate(self.of_text[about[2]], sum(map(ord, about[2]))):
            said = quote if number % 10 != 1 else "This was shown elsewhere."
            if number % 10:
                claims.append(dict(zip(("subject", "relation", "object", "quote"), (*claim, said), strict=True)))
        return json.dumps({"claims": claims})


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """An empty workspace."""
    return open_workspace(Settings(workspace=tmp_path / "workspace", author="tester"))


@pytest.fixture
def planted(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Planter:
    """The demo at a small size, its labelled run of 200 briefs, and three packs."""
    monkeypatch.setattr(demo, "SAMPLE", BRIEFS // 4)
    sizes = (SplitSize("train", 54, 260, 560, 1_280), SplitSize("test", 16, 110, 130, 300))
    monkeypatch.setattr(demo_world, "SIZES", sizes)
    monkeypatch.setattr(demo_world, "PERTS_AMONG_TARGETS", 12)
    monkeypatch.setattr(demo_debate, "N_UNREADABLE", {"de": 1, "dir": 1})
    genes = sorted({symbol for pair in demo.simulate().pairs for symbol in (pair.pert, pair.gene)})
    planter = Planter(genes)
    monkeypatch.setattr(demo_debate, "brief", planter.brief)
    make_demo(workspace)
    for name, content in planter.packs():
        assert import_upload(workspace, json.dumps(content).encode(), f"{name}.json").kind == name
    return planter


def measure(found: RunClaims, planter: Planter, texts: dict[tuple[str, int], str]) -> tuple[float, float]:
    """Precision and recall of the claims; what is known of each that is right has to be exact."""
    true = {(key, each.claim): each.status for key, text in texts.items() for each in planter.of_text[text]}
    frame = found.claims[~found.claims["is_answer"]]
    said = {
        ((row["pair_id"], int(row["seq"])), (row["subject"], row["relation"], row["object"])): row["status"]
        for row in frame.to_dict("records")
    }
    right = said.keys() & true.keys()
    assert {each: said[each] for each in right} == {each: true[each] for each in right}
    assert all(said[each] == "not known" for each in said.keys() - right)  # what nobody claimed is in no pack
    counted = Counter(said.values())
    by_role = {status: sum(getattr(count, status.replace(" ", "_")) for count in found.counts) for status in counted}
    assert by_role == dict(counted)
    return len(right) / len(said), len(right) / len(true)


def test_claims_of_200_labelled_briefs_are_found_and_checked(workspace: Workspace, planted: Planter, record: Record) -> None:
    with workspace.store.read() as db:
        found = rubrics.texts(db, runs.find(db, RUN).id, RULE.rubric)
    texts = {(each.pair_id, int(each.seq)): str(each.content) for each in found.itertuples()}
    assert len(texts) == BRIEFS
    by_rules = measure(claims_of_run(workspace, RUN, ClaimsRequest()), planted, texts)
    with serving(Script(answer=planted.read)) as url:
        reading = readings.start_reading(workspace, RULE.rubric, RUN, ReadingSettings(endpoint=url))
    read = claims_of_run(workspace, RUN, ClaimsRequest(reader="model"), reading.id)
    by_model = measure(read, planted, texts)
    record(rules_precision=by_rules[0], rules_recall=by_rules[1], model_precision=by_model[0], model_recall=by_model[1])
    assert by_rules[0] >= 0.8
    assert by_rules[1] >= 0.75
    assert by_model[0] == 1
    assert 0.7 <= by_model[1] <= 0.9
    assert read.not_found > 0
    assert read.agreement is not None
    assert 0 < read.agreement.both < read.agreement.total

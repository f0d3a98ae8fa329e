"""The simulated demo's dossiers: what each evidence tool answers, shared between rows with the same answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np

from core.datasets.demo_world import MOVING, PROGRAMS, Floats, LabelTotals, Program, Rows, VisibleLabels, World
from core.types import Evidence

RETRIEVED = datetime(2026, 1, 5, 9, 30, tzinfo=UTC)
PARTNERS = 6
CURATED = 0.75  # of the genes that can respond, how many a curated program lists
FAILING = 0.012  # share of look-ups that end in an error; as many are offline, and as many empty
CO_MENTIONED = 0.04

Status = Literal["ok", "empty", "error", "offline"]
Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Dossier:
    """A row's evidence, and a reader's summary of it.

    link: the effect of the perturbation on the gene's program that a passage reports (+1 raised, −1 lowered, 0 none); passage,
    topic: its id and that program's name. program, expected: what the gene's class says. partner: the closest analogue with
    labels; near_de, near_up: P(DE) and P(up given DE) pooled over the analogues, None if there are none. base_de, base_up: the
    same over all rows in view. papers: whether the literature tool answered.
    """

    pert: str
    gene: str
    evidence: tuple[Evidence, ...]
    link: int
    passage: str | None
    topic: str | None
    program: str | None
    expected: Literal["up", "down"] | None
    clone: bool
    partner: Body | None
    near_de: float | None
    near_up: float | None
    base_de: float
    base_up: float
    papers: Status


@dataclass(frozen=True, slots=True)
class Library:
    """Answers that do not depend on the row: per symbol, and per (perturbation, program) that a passage is about."""

    world: World
    infos: tuple[Evidence, ...]
    classes: tuple[Evidence, ...]
    analogues: dict[int, list[tuple[int, int]]]
    analogue_status: dict[int, Status]
    links: dict[tuple[int, int], tuple[int, Body]]
    remarks: dict[int, Body]

    def link(self, pert: int, gene: int) -> tuple[int, Body] | None:
        """Return the reported effect of a perturbation on a gene's program; none if the gene is uncharacterised."""
        return None if self.world.clone[gene] else self.links.get((pert, int(self.world.program[gene])))


def build_library(world: World, rng: np.random.Generator) -> Library:
    """Make the tools' answers about single symbols and about perturbations."""
    analogues, status = _analogues(world, rng)
    links = _links(world, rng)
    remarks = _remarks(world, first=len(links))
    return Library(world, _infos(world, rng), _classes(world, rng), analogues, status, links, remarks)


def _infos(world: World, rng: np.random.Generator) -> tuple[Evidence, ...]:
    """gene_info per symbol: two annotated terms, one in four of them of some other program; none for clones."""
    n = len(world.symbols)
    stray = rng.random((n, 2)) < 0.25
    program = np.where(stray, rng.integers(len(PROGRAMS), size=(n, 2)), world.program[:, None]).tolist()
    term = rng.integers(3, size=(n, 2)).tolist()
    status = _statuses(n, rng)
    infos = []
    for i, symbol in enumerate(world.symbols):
        go = sorted({PROGRAMS[p].terms[t] for p, t in zip(program[i], term[i], strict=True)})
        body = _info(symbol, [] if world.clone[i] else go, i)
        infos.append(_make_evidence("gene_info", symbol, status[i], body))
    return tuple(infos)


def _classes(world: World, rng: np.random.Generator) -> tuple[Evidence, ...]:
    """gene_class per symbol: curated programs list most genes that can respond, and no clone."""
    listed = (rng.random(len(world.symbols)) < CURATED) & np.isin(world.program, MOVING) & ~world.clone
    classes = []
    for i, symbol in enumerate(world.symbols):
        program = PROGRAMS[world.program[i]] if listed[i] else None
        body = {
            "uncharacterised": bool(world.clone[i]),
            "program": program.name if program else None,
            "expected": program.expected if program else None,
        }
        classes.append(_make_evidence("gene_class", symbol, "ok", body))
    return tuple(classes)


def describe(info: Evidence) -> str:
    """Return the sentence or two that a text space is built from; needs the body of a gene_info answer."""
    body = info.body
    return f"{body['name']}. {body['summary']}" if body.get("summary") else f"[no summary] simulated gene {info.key}"


def _info(symbol: str, go: list[str], number: int) -> Body:
    if not go:
        return {"symbol": symbol, "name": f"simulated clone {symbol}", "summary": "", "go": []}
    role = ("Its product takes part in", "Needed for", "Acts in")[number % 3]
    summary = f"{role} {' and '.join(go)}. Invented for the demo, and part of no real genome."
    return {"symbol": symbol, "name": f"simulated factor {symbol[3:]}", "summary": summary, "go": go}


def _links(world: World, rng: np.random.Generator) -> dict[tuple[int, int], tuple[int, Body]]:
    """Per (perturbation, program) that is in the literature: the reported sign, often right, and the passage."""
    links: dict[tuple[int, int], tuple[int, Body]] = {}
    for perts in world.perts.values():
        reported = world.effect[perts] + 1.0 * rng.standard_normal((len(perts), len(PROGRAMS)))
        known = np.abs(reported) > 1.6
        for p, k in np.argwhere(known[:, MOVING]).tolist():
            pert, program = int(perts[p]), int(MOVING[k])
            sign = 1 if reported[p, program] > 0 else -1
            links[pert, program] = (
                sign,
                _passage(len(links), *_report(world.symbols[pert], PROGRAMS[program], sign, len(links))),
            )
    return links


def _report(pert: str, program: Program, sign: int, number: int) -> tuple[str, str]:
    verb = "raises" if sign > 0 else "lowers"
    share = 3 + number % 6
    titles = (
        f"Loss of {pert} {verb} the {program.name} program",
        f"{pert} and {program.terms[number % 3]} in simulated cells",
    )
    texts = (
        f"Depleting {pert} {verb} the {program.name} program in {share} of 9 simulated cultures.",
        f"Without {pert}, {program.terms[number % 3]} changed early; its loss {verb} a reporter of {program.name}.",
        f"A partial loss of {pert} {verb} {program.name} readouts, though {9 - share} of 9 cultures did not follow.",
    )
    return titles[number % 2], texts[number % 3]


def _remarks(world: World, first: int) -> dict[int, Body]:
    """Return what an atlas says of three in five symbols that are not clones; passages are numbered from `first`."""
    remarks = {}
    for i, symbol in enumerate(world.symbols):
        if not world.clone[i] and i % 5 < 3:
            program = PROGRAMS[world.program[i]]
            level = "barely" if program.lean is None else "well"
            text = f"{symbol} is {level} expressed in simulated macrophages; its level follows the {program.name} program."
            remarks[i] = _passage(first + i, f"An atlas entry for {symbol}", text)
    return remarks


def _passage(number: int, title: str, text: str, co_mention: bool = False) -> Body:
    return {"title": title, "text": text, "id": f"SIM-{number + 1:06d}", "co_mention": co_mention}


def _analogues(world: World, rng: np.random.Generator) -> tuple[dict[int, list[tuple[int, int]]], dict[int, Status]]:
    """Per perturbation, other training perturbations that act alike and a score of 400–999, best first."""
    train = world.perts["train"]
    everyone = np.concatenate(list(world.perts.values()))
    unit = world.effect / np.maximum(np.linalg.norm(world.effect, axis=1, keepdims=True), 1e-12)
    similarity: Floats = unit[everyone] @ unit[train].T + 0.5 * rng.standard_normal((len(everyone), len(train)))
    similarity[everyone[:, None] == train[None, :]] = -np.inf
    best = np.argsort(-similarity, axis=1)[:, : 4 * PARTNERS]
    score = np.clip(400 + 300 * np.take_along_axis(similarity, best, axis=1), 400, 999).astype(int)
    found = {
        pert: list(zip(train[row].tolist(), scores, strict=True))
        for pert, row, scores in zip(everyone.tolist(), best, score.tolist(), strict=True)
    }
    return found, dict(zip(everyone.tolist(), _statuses(len(everyone), rng), strict=True))


def _statuses(n: int, rng: np.random.Generator) -> list[Status]:
    names: tuple[Status, ...] = ("ok", "empty", "error", "offline")
    drawn = rng.choice(4, n, p=[1 - 3 * FAILING, FAILING, FAILING, FAILING])
    return [names[i] for i in drawn]


def _make_evidence(tool: str, key: str, status: Status, body: Body, view: str = "") -> Evidence:
    return Evidence(tool, key, status, "simulated", RETRIEVED, body if status == "ok" else {}, view)


def build_dossiers(library: Library, rows: Rows, visible: VisibleLabels, rng: np.random.Generator) -> list[Dossier]:
    """Return one dossier per row, from the labels that are visible to it."""
    rates = [_base_rates(view) for view in visible.views]
    near: dict[tuple[int, int], Evidence] = {}
    status = _statuses(len(rows.pert), rng)
    mentioned = (rng.random(len(rows.pert)) < CO_MENTIONED).tolist()
    dossiers = []
    for i, (pert, gene) in enumerate(zip(rows.pert.tolist(), rows.gene.tolist(), strict=True)):
        view = int(visible.of_row[i])
        if (pert, view) not in near:
            near[pert, view] = _neighbours(library, pert, visible.views[view])
        evidence = (
            library.infos[pert], library.infos[gene], library.classes[pert], library.classes[gene],
            rates[view], near[pert, view], _literature(library, pert, gene, status[i], mentioned[i]),
        )  # fmt: skip
        dossiers.append(_read_dossier(library, pert, gene, evidence))
    return dossiers


def _base_rates(view: LabelTotals) -> Evidence:
    n, up, down = int(view.n.sum()), int(view.up.sum()), int(view.down.sum())
    body = {"n": n, "p_de": round((up + down) / n, 3), "p_up_given_de": round(up / (up + down), 3)}
    return _make_evidence("base_rates", "all rows in view", "ok", body, view.name)


def _neighbours(library: Library, pert: int, view: LabelTotals) -> Evidence:
    symbols = library.world.symbols
    partners: list[Body] = []
    for other, score in library.analogues[pert]:
        n, up, down = int(view.n[other]), int(view.up[other]), int(view.down[other])
        if n and len(partners) < PARTNERS:
            partners.append({"symbol": symbols[other], "score": score, "n": n, "de": up + down, "up": up, "down": down})
    status = library.analogue_status[pert] if partners else "empty"
    return _make_evidence("pathway_neighbours", symbols[pert], status, {"partners": partners}, view.name)


def _literature(library: Library, pert: int, gene: int, status: Status, mentioned: bool) -> Evidence:
    pert_name, gene_name = library.world.symbols[pert], library.world.symbols[gene]
    link = library.link(pert, gene)
    passages = [link[1]] if link else []
    passages += [library.remarks[i] for i in (pert, gene) if i in library.remarks]
    if mentioned:
        title = f"A screen that lists {pert_name} and {gene_name}"
        text = f"{pert_name} and {gene_name} stand in one table of a simulated screen; neither was followed up."
        passages.append(_passage(1_000_000 + 10_000 * pert + gene, title, text, co_mention=True))
    if status == "ok" and not passages:
        status = "empty"
    return _make_evidence("literature", f"{pert_name}|{gene_name}", status, {"passages": passages})


def _read_dossier(library: Library, pert: int, gene: int, evidence: tuple[Evidence, ...]) -> Dossier:
    """Return a reader's summary of the answers."""
    gene_class, rates, near, papers = evidence[3:]
    link = library.link(pert, gene) if papers.status == "ok" else None
    partners = near.body.get("partners", [])
    n, de, up = (sum(partner[key] for partner in partners) for key in ("n", "de", "up"))
    return Dossier(
        pert=library.world.symbols[pert],
        gene=library.world.symbols[gene],
        evidence=evidence,
        link=link[0] if link else 0,
        passage=link[1]["id"] if link else None,
        topic=PROGRAMS[library.world.program[gene]].name if link else None,
        program=gene_class.body["program"],
        expected=gene_class.body["expected"],
        clone=gene_class.body["uncharacterised"],
        partner=partners[0] if partners else None,
        near_de=de / n if n else None,
        near_up=up / de if de else None,
        base_de=rates.body["p_de"],
        base_up=rates.body["p_up_given_de"],
        papers=papers.status,
    )

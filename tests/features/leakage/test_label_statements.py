"""Texts that state labels in words are found; knowledge that names genes is not."""

from __future__ import annotations

import numpy as np
import pytest

from core.features.leakage.label_statements import find_statements

RNG = np.random.default_rng(0)
PAIRS = {
    (f"pert{p}", f"gene{g}"): str(RNG.choice(["up", "down", "none"]))
    for p in range(12)
    for g in range(p % 3, 30, 3)
}
ROWS = {pair: ("_".join(pair), label) for pair, label in PAIRS.items()}
WORDS = {"up": "increases", "down": "decreases", "none": "is unchanged"}


def texts(sentence: str, by: int = 1) -> dict[str, str]:
    """A text about each gene, with a sentence for each of its rows; by: 0 for the perturbations' texts."""
    found = {}
    for pair, label in PAIRS.items():
        pert, gene = (symbol.capitalize() for symbol in pair)
        found.setdefault((pert, gene)[by], ["It binds DNA."]).append(
            sentence.format(pert=pert, gene=gene, label=label, word=WORDS[label])
        )
    return {symbol: " ".join(lines) for symbol, lines in found.items()}


@pytest.mark.parametrize(
    "sentence",
    [
        "When {pert} is knocked down, it {word}.",
        "{pert}: {label};",
        "{pert}_{gene}={label}",
        "{pert}-{gene} {label}-regulated",
        "({pert}/{gene}:{label})",
        "After loss of {pert} → {gene} goes {label}.",
        "When {pert} was taken out by a guide in a screen of ours the message of the gene as measured {word}.",
    ],
)
@pytest.mark.parametrize("by", [0, 1])
def test_statements_are_found_in_texts_about_either_gene(sentence: str, by: int) -> None:
    other = sentence if by else sentence.replace("{gene}", "x").replace("{pert}", "{gene}")
    found = find_statements(texts(other, by), ROWS)
    [finding] = found
    assert finding.startswith("states labels as they are")
    assert "pert0_gene0 (" in finding or "pert" in finding


def test_what_stands_above_a_list_is_said_of_each_name_in_it() -> None:
    heads = {
        "up": "Induced by loss of",
        "down": "Reduced by loss of",
        "none": "Not changed by loss of",
    }
    lists = {
        f"gene{g}": ". ".join(
            f"{head} {', '.join(pert for (pert, gene), said in PAIRS.items() if (gene, said) == (f'gene{g}', label))}"
            for label, head in heads.items()
        )
        for g in range(30)
    }
    assert find_statements(lists, ROWS)[0].startswith("states labels as they are")


def test_inverted_statements_are_found() -> None:
    turned = {"up": "falls", "down": "rises", "none": "is unchanged"}
    about = {f"gene{g}": "" for g in range(30)}
    for (pert, gene), label in PAIRS.items():
        about[gene] += f"With {pert} it {turned[label]}. "
    assert find_statements(about, ROWS)[0].startswith("states labels inverted")


@pytest.mark.parametrize(("n", "is_found"), [(7, False), (8, True)])
def test_as_many_statements_are_needed_as_chance_does_not_get_right(n: int, is_found: bool) -> None:
    """2^-7 is .8%, 2^-8 is .4%."""
    about = {}
    for (pert, gene), label in [
        *((pair, label) for pair, label in PAIRS.items() if label != "none")
    ][:n]:
        about[gene] = f"{about.get(gene, '')} {pert} goes {label}."
    assert bool(find_statements(about, ROWS)) is is_found


def test_knowledge_that_names_genes_states_no_label() -> None:
    verbs = ["binds", "increases", "reduces", "is near", "activates"]
    about = {
        f"gene{g}": f"It {RNG.choice(verbs)} Pert{g % 12}. With Pert{g % 7} it {RNG.choice(verbs)} DNA."
        for g in range(30)
    }
    assert find_statements(about, ROWS) == []

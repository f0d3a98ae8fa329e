"""A gene set summarised by a model in a phrase, and how much of a person's words that phrase holds."""

from __future__ import annotations

from collections.abc import Sequence

from core.errors import MissingPackage
from core.evidence.packs import Packs
from core.llm.messages import Message, Request
from core.methods.prompts import fill, prompt_text
from core.methods.summaries import describe_genes

TEMPERATURE, TOP_P, MAX_TOKENS = 0.6, 0.9, 1_024  # as SUMMER samples


async def summary_request(genes: Sequence[str], packs: Packs, model: str, seed: int) -> tuple[Request, int]:
    """Returns the request for a gene set's phrase, and of how many of its genes a pack says something."""
    described = await describe_genes(genes, packs)
    text = fill(prompt_text("gene_set"), genes=", ".join(genes), knowledge="\n".join(described) or "Nothing.")
    request = Request(
        model, (Message("user", text),), seed=seed, temperature=TEMPERATURE, top_p=TOP_P, max_completion_tokens=MAX_TOKENS
    )
    return request, len(described)


def rouge_1_recall(label: str, phrase: str) -> float:
    """The share of a label's words that a phrase holds, in [0, 1], each as often as the label has it: ROUGE-1 recall.

    Words are runs of letters and digits in any case, without stemming, as the package rouge-score cuts them. Raises
    MissingPackage if it is not installed.
    """
    try:
        from rouge_score.rouge_scorer import RougeScorer  # brings NLTK, which takes seconds
    except ModuleNotFoundError as error:
        raise MissingPackage(
            f"gene sets are scored by the package {error.name}, which is not installed: pip install -r requirements-gene-sets.txt"
        ) from error
    return float(RougeScorer(["rouge1"], use_stemmer=False).score(label, phrase)["rouge1"].recall)

"""The names of published numbers in words, part by part: `train.other_ids` is "train: ids other than pert_gene"."""

from __future__ import annotations

from collections.abc import Mapping

from core.audit.brief_checks import FINDINGS

PARTS: Mapping[str, str] = {
    **FINDINGS,
    "all": "all four roles",
    "agreement": "largest difference between two recoveries",
    "arguing": "rows by advocates who argue",
    "base": "the debate that was fused",
    "blend": "blended",
    "both_roles": "genes in both roles",
    "combined": "row and cluster together",
    "constant": "a constant",
    "count_only_de": "rows of a gene counted, DE",
    "count_only_de_without_singletons": "rows of a gene counted, genes of one row left out, DE",
    "coverage": "genes covered",
    "cross": "crossed",
    "de": "DE",
    "de_fallbacks": "rows with a stand-in for DE",
    "dir": "DIR",
    "dir_fallbacks": "rows with a stand-in for DIR",
    "distinct_p_de": "different values of P(DE)",
    "embedding": "one gene space against another",
    "farthest": "largest distance from a percentile, in steps",
    "folds": "out of fold",
    "fused": "fused",
    "fused_again": "largest difference when fused again",
    "fused_from_sums": "largest difference when fused from the file's sums",
    "gene": "by target gene",
    "genes": "target genes",
    "gf316": "Geneformer 316M",
    "knn": "kNN",
    "knn_fusion": "kNN fusion",
    "llm": "the language model",
    "loo": "leave-one-out",
    "lps": "LPS time course",
    "minilm": "MiniLM, centred",
    "minilm_raw": "MiniLM, not centred",
    "n": "briefs",
    "other_ids": "ids other than pert_gene",
    "pert": "by perturbation",
    "perts": "perturbations",
    "product": "by both, two-way",
    "public": "on the public rows",
    "rarer_up_dir": "rarer genes up, DIR",
    "repeated_ids": "ids that come twice",
    "row": "by row",
    "scgpt": "scGPT",
    "scgpt_fusion": "scGPT fusion",
    "scgpt_fusion_wdir07": "scGPT fusion, DIR weight 0.7",
    "seeds": "several seeds",
    "shared": "in both train and test",
    "sharp": "debate with sharp evidence",
    "singletons": "genes of one row",
    "singletons_none": "genes of one row labelled none",
    "state": "STATE",
    "string": "STRING",
    "support_aware": "support-aware",
    "text": "gene descriptions",
    "uncovered": "rows that the kNN does not cover",
    "values": "different P(DE)",
    "values_of_sums": "different sums in its file",
    "w_dir": "DIR weight 0.7 against 0.5",
    "weight": "one weight against another",
    "within_gene": "inside target genes",
    "within_pert": "inside perturbations",
}


def words_of(name: str) -> str:
    """Return a published number's name in words, without its group; a part without words stays as it is."""
    return ", ".join(PARTS.get(part, part) for part in name.split(".")[1:])

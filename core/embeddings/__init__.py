"""Gene spaces: load them, build them, match them to a dataset, and compare genes in them."""

from core.embeddings.build import build_coresponse, build_network, build_response, build_text
from core.embeddings.encoders import Endpoint, build_endpoint, build_sentences
from core.embeddings.load import FORMATS, load_space
from core.embeddings.match import Coverage, Matched, coverage, match
from core.embeddings.similarity import cosines, directions, mean_similarity, similarities
from core.embeddings.space import Space, make_space, save_space

__all__ = [
    "FORMATS",
    "Coverage",
    "Endpoint",
    "Matched",
    "Space",
    "build_coresponse",
    "build_endpoint",
    "build_network",
    "build_response",
    "build_sentences",
    "build_text",
    "cosines",
    "coverage",
    "directions",
    "load_space",
    "make_space",
    "match",
    "mean_similarity",
    "save_space",
    "similarities",
]

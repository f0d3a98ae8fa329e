"""Gene spaces: load them, build them, and match them to a dataset's symbols."""

from core.embeddings.build import build_coresponse, build_network, build_response, build_text
from core.embeddings.encoders import Endpoint, build_endpoint, build_sentences
from core.embeddings.load import FORMATS, is_checkpoint, load_space
from core.embeddings.space import Space, make_space, project_to_two_axes, save_space
from core.embeddings.symbol_matching import Coverage, Rule, SymbolMatches, coverage, match_symbols

__all__ = [
    "FORMATS",
    "Coverage",
    "Endpoint",
    "Rule",
    "Space",
    "SymbolMatches",
    "build_coresponse",
    "build_endpoint",
    "build_network",
    "build_response",
    "build_sentences",
    "build_text",
    "coverage",
    "is_checkpoint",
    "load_space",
    "make_space",
    "match_symbols",
    "project_to_two_axes",
    "save_space",
]

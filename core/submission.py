"""The starter kit's functions, by the names under which its users import them."""

from core.features.submissions.starter import (
    build_submission,
    format_prompt,
    format_prompts_from_csv,
    parse_answer,
    parse_answers,
)

__all__ = [
    "build_submission",
    "format_prompt",
    "format_prompts_from_csv",
    "parse_answer",
    "parse_answers",
]

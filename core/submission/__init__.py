"""Submissions for tracks A, B and C: what they are, what is wrong with one, and how one is made.

tracks        columns, members and limits
parsed        a zip or CSV taken apart
check         every problem of a file
rules/        one function a rule
provenance    what is known of the run behind a file
package       the zip of finished rows
fusion_trace  what a trace lacks after a fusion
starter       the starter kit's functions, which are offered here
"""

from core.submission.starter import build_submission, format_prompt, format_prompts_from_csv, parse_answer, parse_answers

__all__ = ["build_submission", "format_prompt", "format_prompts_from_csv", "parse_answer", "parse_answers"]

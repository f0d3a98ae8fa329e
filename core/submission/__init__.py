"""Describe, check and make submissions for tracks A, B and C.

tracks        the columns, members and limits of each track
parsed        a parsed zip or CSV, and facts about the run behind it
rules/        checks of a file, one function per rule
package       the zip of finished rows, and missing events of a fusion's trace
starter       the functions of the starter kit
"""

from core.submission.starter import build_submission, format_prompt, format_prompts_from_csv, parse_answer, parse_answers

__all__ = ["build_submission", "format_prompt", "format_prompts_from_csv", "parse_answer", "parse_answers"]

"""Submissions for tracks A, B and C: what they are, what is wrong with one, and how one is made.

tracks        the columns, members and limits of each track
parsed        a zip or CSV, parsed, and what is known about the run behind it
rules/        every problem of a file, one function per rule
package       the zip of finished rows, and the events that a fusion's trace lacks
starter       the starter kit's functions, which are offered here
"""

from core.submission.starter import build_submission, format_prompt, format_prompts_from_csv, parse_answer, parse_answers

__all__ = ["build_submission", "format_prompt", "format_prompts_from_csv", "parse_answer", "parse_answers"]

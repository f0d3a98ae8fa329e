"""Submissions for tracks A, B and C: what they are, what is wrong with one, and how one is made.

tracks       columns, members and limits             check        every problem of a file; rules, facts
opened       a zip or CSV taken apart                package      the zip of finished rows
on_files, on_columns, on_cells, on_traces, eligibility: the rules
starter      the starter kit's functions, which are offered here
"""

from core.submission.starter import build_submission, format_prompt, format_prompts_from_csv, parse_answer, parse_answers

__all__ = ["build_submission", "format_prompt", "format_prompts_from_csv", "parse_answer", "parse_answers"]

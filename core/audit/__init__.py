"""What the text of a run reveals about it. Records in, findings out; used on import, by methods and by pages.

brief_checks       is a brief an argument, or an answer to a multiple-choice question?
argument_checks    does a brief argue, and for its own side?
debate_audit       the briefs of a run, role by role
shared_symbols     perturbations and target genes that two splits share
concerns           what a person should look at before believing a number
"""

"""What a run's own text gives away. Pure: records in, findings out; used on import, by methods and by pages.

brief_checks       was a brief an argument, or an answer to a multiple-choice question?
brief_conclusions  does it argue, and for its own side?
debate_audit       a run's briefs, role by role
concerns           what to look at before believing a number
"""

"""What a run's own text gives away. Pure: records in, findings out; used on import, by methods and by pages.

briefs       was a brief an argument, or an answer to a multiple-choice question?
conclusions  does it argue, and for its own side?
debate       a run's briefs, role by role
attention    what to look at before believing a number
"""

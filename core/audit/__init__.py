"""What a run's own text gives away. Pure: records in, findings out; used on import, by methods and by pages.

briefs      was a brief an argument, or an answer to a multiple-choice question?
"""

"""Questions asked of every text of a run.

counts   how many texts have each answer        rates    the rate of an answer, corrected by labels
worth    rows with an answer against the others
"""

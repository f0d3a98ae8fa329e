"""What the text of a run reveals about it. Records in, findings out; used on import, by methods, by the store and by pages.

brief_checks       does a brief argue for its side, or does it answer a multiple-choice question?
rules              one file a question that a rule can answer
text_sampling      draws texts for people to read, with known probabilities
rubric             a question with a fixed set of answers, asked of texts of a run
debate_audit       the briefs of a run, role by role
shared_symbols     perturbations and target genes that two splits share
concerns           what a person should look at before believing a number
"""

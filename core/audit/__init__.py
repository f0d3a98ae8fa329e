"""Checks of a run's texts. Records in, findings out; used on import, by methods, by the store and by pages.

brief_checks       does a brief argue for its side, or does it answer a multiple-choice question?
rules              questions that a rule can answer, as a table
rule_text          a text of a run, prepared for rules
text_sampling      draw texts for people to read: simple or stratified
sample_request     the settings of such a draw
rubric             a question with a fixed set of answers about texts of a run
pattern            regular expressions that people write
debate_audit       the briefs of a run, role by role
shared_symbols     perturbations and target genes that two splits share
label_statements   labels stated in texts about genes
concerns           what to check before trusting a number
"""

"""What the text of a run reveals about it. Records in, findings out; used on import, by methods, by the store and by pages.

brief_checks       does a brief argue for its side, or does it answer a multiple-choice question?
rules              questions that a rule can answer, as a table
rule_text          a text of a run as rules read it
text_sampling      draws texts for people to read, with known probabilities
sample_request     what may be chosen of such a draw
rubric             a question with a fixed set of answers, asked of texts of a run
pattern            regular expressions that people write
debate_audit       the briefs of a run, role by role
claims             what a text claims about two genes, by rules
text_symbols       the gene symbols by which texts are searched
claim_checks       what packs say of claims
clash              a point of a debate, and what became of it
argument_kinds     texts with similar words: kinds of arguments, and how well they hold
kind_settings      what may be chosen of how they are sorted
argument_words     which words of an argument count, and which tell kinds apart
shared_symbols     perturbations and target genes that two splits share
label_statements   labels that texts about genes state
concerns           what a person should look at before believing a number
"""

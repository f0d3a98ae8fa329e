"""Questions asked of every text of a run.

rates    the rate of an answer, corrected by labels
worth    rows with an answer against the others

finding_kinds   answers with a schema, which list findings: claims, clash   findings  what they list
schema_reading  counted, as a result
claim_rules     claims of a text, found by rules         claim_checks, claim_knowledge  claims checked against packs
findings_tab    on the page Arguments                    row_panel  on a row
"""

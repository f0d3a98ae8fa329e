"""Questions asked of every text of a run.

rates    the rate of an answer, corrected by labels
worth    rows with an answer against the others

finding_kinds   answers with a schema, which list findings: claims, clash
findings        what a reading lists                    schema_reading  counted, as a result
claim_checks    claims checked against packs            claim_knowledge  what the packs know
findings_tab    on the page Arguments                   row_panel  on a row
"""

"""The page Arguments: what do all texts of a run say?

choices       which rubric is asked, and whose answers are shown
numbers       what is computed of a rubric, cached
rubrics_tab   rates by role and the texts behind them; rubric_forms adds a rubric and starts a model's reading
label_tab     draws texts; reader shows one after the other and stores what a person answers; revealed says what else is known
worth_tab     rows with an answer against rows without it
"""

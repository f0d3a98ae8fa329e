"""Ways to predict, one file each: from pairs and what may be known of them to predictions with their traces.

base, registry   what a method is, and which there are
debate           EFFECT against NULL, UP against DOWN, each before a judge (debate_texts: what they are told)
prompt_only      one prompt a row, letters or log-probabilities, several seeds
evidence_rules   a table of weights over typed evidence: a rule set, no model
knn              labels lent by similar genes         fusion       rank-percentile fusion of runs
recovered        a component back from a fusion
ask, case, texts one call and its record; a row's cell context, seeds and examples; prompts from core/llm/prompts
"""

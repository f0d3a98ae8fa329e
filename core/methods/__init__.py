"""Ways to predict, one file each: from pairs and the labels that may be seen to predictions with
their traces.

base             what a method is, and the list of methods
debate           EFFECT against NULL and UP against DOWN, each before a judge (debate_texts: its
                 messages)
debate_again     a row of a debate asked again, with the dossier as it was or changed
prompt_only      one prompt for each row, letters or log-probabilities, several seeds
local_model      Track C: one prompt for each row, of several answers the mean or the best
react            one agent with tools          coordinator    an agent that asks two others (agents:
                 what both share)
summer           summaries of both genes, labelled pairs like the row, guided questions (summaries:
                 the first step; summer_texts: its messages)
evidence_rules   a table of weights over typed evidence, without a model
knn              the labels of similar genes  fusion         rank-percentile fusion of runs
recovered        a component recovered from a fusion
brief_checks     whether a brief argues for its side (text_rules: the rules that say so)
fusion_settings  what a fusion is made from    cut_scores     the scores of a run under ten cuts of
                 the folds
fusion_components  what these three ask of a workspace: runs on the same rows, priors from labelled
                   rows
conversation     one row's calls to a model   row_feed: what happens to a row, for whoever watches
coded_names      gene names as a model sees them: coded, hidden, swapped
prompts          texts from core/llm/prompts, options that methods share, what the challenge's
                 tracks allow
"""

"""Track C: a LoRA fine-tune of an open model on labelled pairs, merged into a folder that vLLM serves.

The app plans a fine-tune and starts it; a process of its own trains, by an interpreter that has torch (requirements-train.txt).

settings         what can be chosen
spec             what a fine-tune is made from, which is its identity
examples         prompts and answers of labelled pairs, and the doubly disjoint cut into training and validation
job_folder       the files of a fine-tune
train            that process: LoRA SFT, checkpoints, resume
merge            the merged model with its tokenizer, and behind them the manifest
"""

"""Agents that call tools, on DSPy: what react and coordinator share. Only `dspy_program` imports
DSPy.

agent_episode  one row: its calls, limits, events and evidence
tool_binding   evidence tools bound to a row      dspy_program   DSPy's ReAct over an episode
agent_row      one row, from its prompts to its prediction
"""

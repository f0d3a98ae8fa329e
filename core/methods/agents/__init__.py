"""Agents that call tools, on DSPy: what react and coordinator share. Only `program` imports DSPy.

options   what both methods can be told      episode   one row: its calls, limits, events and evidence
bound     evidence tools as an agent may call them      program   DSPy's ReAct over an episode
"""

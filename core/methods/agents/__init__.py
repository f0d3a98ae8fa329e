"""Agents that call tools, on DSPy: what react and coordinator share. Only `dspy_program` imports
DSPy.
"""

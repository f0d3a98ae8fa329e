"""What is known about a perturbation and a gene: evidence tools, which answer with typed
`Evidence`.
"""

"""How anything here talks to a server; models and public sources share it, and each of them adds
only its protocol.
"""

"""How anything here talks to a server; models and public sources share it, and each of them adds
only its protocol.

transport         one HTTP exchange: a response or a typed fault
retry             the one retry policy; Retry-After
rate_limit        how fast a source may be asked, also across processes
sqlite_cache      a SQLite file that may be damaged or deleted at any time
response_cache    answers of public sources on such a file
addresses         which addresses can be used, which are of one server, and which are local
server_access     which model servers may be asked, and with which key
scrubber          takes secrets out of texts
"""

"""Language models: asking them, reading what they answer. Knows no rows, no evidence and no store.

records      a request, a reply, what it cost            errors     how asking can fail, as one tree
endpoint     a server's address, key and limits          wire       one HTTP exchange, nothing repeated
client       retries, concurrency, cache                 answers    the JSON of one answer
cache        answers kept on disk                        health     is a server fit for a run?
parsing      numbers and classes out of text             logprobs   probabilities of the answer letters
tokens       how long a prompt is, and who says so
scripted     a server that is no model: for tests and the demo; scripted_text is what it says
"""

"""Language models: sending requests and reading answers. Knows no rows, no evidence and no store.

messages          a request, a reply, what it cost
endpoint          a server's address, key and limits, and one exchange with it
client            concurrency, retries, replies on disk
errors            how a call can fail
answers           reads the JSON of one answer
health            whether a server is fit for a run
parsing           numbers and classes from text
logprobs          probabilities of the answer letters
tokens            the number of tokens of a text
prompts/          the prompt texts
serve             a vLLM server of one's own
scripted_server   a server without a model, for tests and demos; its answers and faults: scripted_replies, scripted_text,
                  scripted_faults
"""

"""Language models: sending requests and reading answers. Knows no rows, no evidence and no store.

messages          a request, a reply, what it cost
endpoint          a server's address, key and limits, and one exchange with it
client            concurrency, retries
streaming         answers that come in pieces
streamed_answer   the whole answer that they make, within limits
reply_cache       replies on disk
server_pool       several servers behind one client: the one with the fewest requests is asked,
                  those that fail rest
errors            how a call can fail
completion        reads the JSON of one completion, and whether it is whole
kept_answer       what of it is kept with a row
thinking          which part of a reply is thinking; live_text: while it is written
answers           the label, option or probability that a reply marks as its answer
call_settings     how a server is asked, beyond what a method decides
server_errors     what a server says is wrong, and what it means; refused_parameters: which setting
                  helps
health            whether a server is fit for a run
json_objects      the JSON objects in a text
structured        answers as JSON, by a schema that the server is held to
logprobs          probabilities of the answer letters
prompts/          the prompt texts
serve             a vLLM server of the user's own
scripted_server   a small simulated model, for Ask without a model, benchmarks and tests
"""

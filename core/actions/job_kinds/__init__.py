"""One file a kind of background job, with a `KIND`; `base` finds them, and nothing else lists them."""

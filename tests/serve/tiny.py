"""Make a tiny model that answers as exercises show: `python tiny.py EXERCISES.jsonl FOLDER`, where torch and transformers are.

An exercise is {"messages": [{"role", "content"}, …], "answers": [text, …], "symbols": [text, …]}; each of its answers is
equally right. Two layers of Qwen3, half a million parameters, and a byte-level tokenizer, all from nothing and from a fixed
seed, in three minutes on a CPU. FOLDER appears when everything is in it. Ends with status 1 where the model has not
learnt to answer.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

SEED = 0
STEPS = 600
BATCH = 6
RATE = 4e-3
LONGEST = 8192
VOCABULARY = 1536
PAD, START, END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
HIGHEST_LOSS = 0.5  # nats a token, most of it which of several answers is given; log 1536 = 7.3 before training


class Encoded(NamedTuple):
    """The tokens of a prompt, and of each of its answers."""

    prompt: list[int]
    answers: list[list[int]]


def make_tokenizer(texts: list[str], symbols: list[str]) -> PreTrainedTokenizerFast:
    """Bytes, and the commonest of their sequences in these texts; symbols are whole, since so small a model hardly spells."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[PAD, START, END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_tokens([AddedToken(symbol, single_word=True, normalized=False) for symbol in symbols])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token=PAD, eos_token=END, chat_template=TEMPLATE, model_max_length=LONGEST
    )


def make_model(tokenizer: PreTrainedTokenizerFast) -> Qwen3ForCausalLM:
    """Two layers, not trained yet."""
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=LONGEST,
        tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
    )
    return Qwen3ForCausalLM(config)


def encode(exercises: list[dict[str, Any]], tokenizer: PreTrainedTokenizerFast) -> dict[int, list[Encoded]]:
    """Every exercise, with others of about the same length, so that little is padded."""
    by_length = defaultdict(list)
    for exercise in exercises:
        prompt = tokenizer.apply_chat_template(exercise["messages"], add_generation_prompt=True, tokenize=False)
        start = tokenizer(prompt, add_special_tokens=False).input_ids
        ends = [tokenizer(answer + END, add_special_tokens=False).input_ids for answer in exercise["answers"]]
        by_length[len(start) // 100].append(Encoded(start, ends))
    return dict(by_length)


def loss_of(model: Qwen3ForCausalLM, batch: list[tuple[list[int], list[int]]]) -> torch.Tensor:
    """Cross-entropy of the answers' tokens; what is padded stands behind them, where nothing looks at it."""
    width = max(len(start) + len(end) for start, end in batch)
    ids = torch.full((len(batch), width), int(model.config.pad_token_id))
    answers = torch.zeros_like(ids, dtype=torch.bool)
    for row, (start, end) in enumerate(batch):
        ids[row, : len(start) + len(end)] = torch.tensor(start + end)
        answers[row, len(start) : len(start) + len(end)] = True
    hidden = model.model(ids).last_hidden_state[:, :-1][answers[:, 1:]]
    return torch.nn.functional.cross_entropy(model.lm_head(hidden), ids[:, 1:][answers[:, 1:]])


def train(model: Qwen3ForCausalLM, by_length: dict[int, list[Encoded]]) -> float:
    """The mean loss of the last tenth of the steps."""
    rng = random.Random(SEED)
    lengths, sizes = list(by_length), [len(examples) for examples in by_length.values()]
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01, betas=(0.9, 0.95))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=STEPS, pct_start=0.1)
    losses = []
    start = time.monotonic()
    for step in range(STEPS):
        drawn = rng.choices(by_length[rng.choices(lengths, sizes)[0]], k=BATCH)
        loss = loss_of(model, [(exercise.prompt, rng.choice(exercise.answers)) for exercise in drawn])
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        losses.append(loss.item())
        if step % 30 == 29:
            print(f"step {step + 1}: loss {sum(losses[-30:]) / 30:.3f}, {time.monotonic() - start:.0f} s", flush=True)
    return sum(losses[-STEPS // 10 :]) / (STEPS // 10)


def main(source: str, folder: str) -> int:
    """Make, train and save the model; the exit status."""
    exercises = [json.loads(line) for line in Path(source).read_text("utf-8").splitlines()]
    random.seed(SEED)
    torch.manual_seed(SEED)
    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(1)  # hardly slower for a model this small, and no waiting for a thread that others hold up
    texts = [text for exercise in exercises for text in texts_of(exercise)]
    tokenizer = make_tokenizer(texts, sorted({symbol for exercise in exercises for symbol in exercise["symbols"]}))
    model = make_model(tokenizer)
    print(f"{sum(weights.numel() for weights in model.parameters()):,} parameters, {len(exercises):,} exercises", flush=True)
    loss = train(model, encode(exercises, tokenizer))
    if loss > HIGHEST_LOSS:
        print(f"the loss is {loss:.2f} a token, expected at most {HIGHEST_LOSS}", file=sys.stderr)
        return 1
    target = Path(folder)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as unfinished:
        made = Path(unfinished) / "model"
        model.save_pretrained(made)
        tokenizer.save_pretrained(made)
        made.rename(target)
    return 0


def texts_of(exercise: dict[str, Any]) -> list[str]:
    """Everything that is said in it."""
    return [*(message["content"] for message in exercise["messages"]), *exercise["answers"]]


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

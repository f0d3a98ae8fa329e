"""Make a tiny model that answers as exercises show: `python tiny.py EXERCISES.jsonl FOLDER`, where torch and transformers are.

An exercise is {"kind", "messages": [{"role", "content"}, …], "answers": [text, …], "symbols": [text, …]}; each of its
answers is equally right. Two layers of Qwen3, half a million parameters, and a byte-level tokenizer, all from nothing and from
a fixed seed, in a few minutes on a CPU. How a model learns differs from one processor to the next, so it is taught in rounds
until it can answer every kind of exercise. FOLDER appears when everything is in it. Ends with status 1 where the model has
not learnt to answer.
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
ROUNDS, STEPS = 6, 300  # at most so many rounds of so many steps
BATCH = 6
RATE = 4e-3
LONGEST = 8192
VOCABULARY = 1536
PAD, START, END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
LOWEST_CHANCE = 0.8  # that an answer to an exercise is right
SURENESS = 2.0  # times what it gives out of logits, as temperature ½ would: what it hardly believes it then hardly says
ASKED = 6  # exercises of each kind


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
    tokenizer.add_tokens(
        [AddedToken(symbol, single_word=True, normalized=False) for symbol in symbols]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=END,
        chat_template=TEMPLATE,
        model_max_length=LONGEST,
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


def encode(
    exercises: list[dict[str, Any]], tokenizer: PreTrainedTokenizerFast
) -> dict[str, list[Encoded]]:
    """The exercises of every kind as tokens."""
    by_kind = defaultdict(list)
    for exercise in exercises:
        prompt = tokenizer.apply_chat_template(
            exercise["messages"], add_generation_prompt=True, tokenize=False
        )
        start = tokenizer(prompt, add_special_tokens=False).input_ids
        ends = [
            tokenizer(answer + END, add_special_tokens=False).input_ids
            for answer in exercise["answers"]
        ]
        by_kind[exercise["kind"]].append(Encoded(start, ends))
    return dict(by_kind)


def foresee(
    model: Qwen3ForCausalLM, prompt: list[int], answer: list[int]
) -> tuple[torch.Tensor, torch.Tensor]:
    """For every token of the answer: what the model expects (tokens × vocabulary), and what it is."""
    hidden = model.model(torch.tensor([prompt + answer])).last_hidden_state[0, len(prompt) - 1 : -1]
    return model.lm_head(hidden), torch.tensor(answer)


def teach(
    model: Qwen3ForCausalLM,
    by_kind: dict[str, list[Encoded]],
    shares: dict[str, float],
    rng: random.Random,
) -> None:
    """One round, in which the rate rises and falls again; shares: how much of it goes to each kind."""
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01, betas=(0.9, 0.95))
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, RATE, total_steps=STEPS, pct_start=0.1
    )
    for _ in range(STEPS):
        drawn = [
            rng.choice(by_kind[kind])
            for kind in rng.choices(list(shares), list(shares.values()), k=BATCH)
        ]
        batch = [(exercise.prompt, rng.choice(exercise.answers)) for exercise in drawn]
        tokens = sum(len(answer) for _, answer in batch)
        optimiser.zero_grad()
        for prompt, answer in batch:  # one by one: their lengths differ too much to pad them
            loss = (
                torch.nn.functional.cross_entropy(*foresee(model, prompt, answer), reduction="sum")
                / tokens
            )
            loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()


@torch.no_grad()
def chances(
    model: Qwen3ForCausalLM, asked: dict[str, list[Encoded]], symbols: torch.Tensor
) -> dict[str, float]:
    """Of every kind, the mean chance of a right answer; where it names a gene, any will do."""
    found = {}
    for kind, exercises in asked.items():
        right = 0.0
        for exercise in exercises:
            for answer in exercise.answers:
                expected, answered = foresee(model, exercise.prompt, answer)
                shares = expected.softmax(-1)
                each = shares.gather(1, answered[:, None])[:, 0]
                right += (
                    each.where(~torch.isin(answered, symbols), shares[:, symbols].sum(1))
                    .prod()
                    .item()
                )
        found[kind] = right / len(exercises)
    return found


def learn(
    model: Qwen3ForCausalLM, by_kind: dict[str, list[Encoded]], symbols: torch.Tensor
) -> bool:
    """Teach the model until it can answer, most of all what it cannot answer yet; whether it can."""
    rng = random.Random(SEED)
    asked = {kind: rng.sample(alike, ASKED) for kind, alike in by_kind.items()}
    shares = dict.fromkeys(by_kind, 1.0)
    start = time.monotonic()
    for number in range(1, ROUNDS + 1):
        teach(model, by_kind, shares, rng)
        found = chances(model, asked, symbols)
        said = ", ".join(f"{kind} {chance:.3f}" for kind, chance in found.items())
        print(f"round {number}, {time.monotonic() - start:.0f} s: {said}", flush=True)
        if min(found.values()) >= LOWEST_CHANCE:
            return True
        shares = {kind: 1.1 - chance for kind, chance in found.items()}
    return False


def main(source: str, folder: str) -> int:
    """Make, train and save the model; the exit status."""
    exercises = [json.loads(line) for line in Path(source).read_text("utf-8").splitlines()]
    random.seed(SEED)
    torch.manual_seed(SEED)
    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(
        1
    )  # hardly slower for a model this small, and no waiting for a thread that others hold up
    texts = [text for exercise in exercises for text in texts_of(exercise)]
    named = {symbol for exercise in exercises for symbol in exercise["symbols"]}
    tokenizer = make_tokenizer(texts, sorted(named))
    model = make_model(tokenizer)
    print(
        f"{sum(weights.numel() for weights in model.parameters()):,} parameters, {len(exercises):,} exercises",
        flush=True,
    )
    symbols = torch.tensor(tokenizer.convert_tokens_to_ids(sorted(named)))
    if not learn(model, encode(exercises, tokenizer), symbols):
        print(
            f"it cannot answer, expected a chance of {LOWEST_CHANCE} for every kind",
            file=sys.stderr,
        )
        return 1
    model.model.norm.weight.data *= SURENESS
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

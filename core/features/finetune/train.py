"""The process of a fine-tune, `python -m core.features.finetune.train FOLDER`: LoRA SFT from the
last whole checkpoint, then the merge.

It needs what requirements-train.txt pins, and of this repository only what needs no other package.

Prompts and answers as tokens, as the server of the model will see them: only those of the answer
count in the loss.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from core.base.errors import InputError, NotFound
from core.base.texts import describe_duration
from core.features.finetune.job_folder import (
    FinetuneFolder,
    FinetuneSpec,
    hashes_of,
    last_whole,
    mark_whole,
    read_manifest,
    write_merged,
)
from core.runs.jobs.state import exclusive_lock, record_ending
from core.runs.jobs.work import Reporter, describe_cause, describe_early_end

IGNORED = -100  # the label of tokens that do not count


KEPT_CHECKPOINTS = 2  # while one is written, the one before is whole


class Hardware(NamedTuple):
    """What is computed on, such as "cpu" or "cuda:NVIDIA …", and whether it knows bfloat16."""

    device: str
    bf16: bool


def main(path: str) -> int:
    """Work on a fine-tune until it is done, stopped or failed, and record which; return the exit
    status.

    Not by `core.runs.jobs.work.work_on`: that interrupts the work at once, and this ends after a
    step with a checkpoint.
    """
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "0")  # with several GPUs a batch would be another
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    folder, stopping = FinetuneFolder(Path(path)), threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    with exclusive_lock(folder, "fine-tune"):
        folder.keep_reserve()
        folder.done.unlink(missing_ok=True)
        with Reporter(folder, stopping.set) as reporter:
            try:
                _work(folder, reporter, stopping)
            except Exception as error:  # noqa: BLE001
                # first: on a full disk the log takes no traceback, and printing it raises
                record_ending(folder, "failed", describe_cause(error, folder.path))
                traceback.print_exc()
                return 1
    return 0


def _work(folder: FinetuneFolder, reporter: Reporter, stopping: threading.Event) -> None:
    """Train and merge. stopping: set once the end is asked for, by a person or a signal."""
    spec = folder.spec()
    if not _is_merged(folder):
        if Path(spec.base).is_dir():
            os.environ["HF_HUB_OFFLINE"] = "1"
        reporter.report(0.0, "loading the model")
        tokenizer, trainer, hardware = _prepare(folder)
        trainer.add_callback(_callback(folder, reporter, stopping))
        reporter.update(what="training")
        checkpoint = last_whole(folder.checkpoints)
        _log(f"training from {checkpoint.name if checkpoint else 'the start'}")
        trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
        folder.write_losses(read_losses(trainer.state.log_history))
        if trainer.state.global_step < trainer.state.max_steps:
            record_ending(folder, *describe_early_end(folder))
            return
        trainer.save_model(str(folder.adapter))
        reporter.report(1.0, "merging the adapter into the model")
        write_merged(trainer.model, tokenizer, spec, _describe(trainer, spec, hardware))
    made = read_manifest(Path(spec.out))
    results = {name: made[name] for name in ("steps", "loss", "validation_loss")}
    record_ending(folder, "done", **results)
    shutil.rmtree(folder.checkpoints, ignore_errors=True)


def _is_merged(folder: FinetuneFolder) -> bool:
    """Return whether the merged model of this fine-tune is complete, so that only its ending was
    not recorded."""
    spec = folder.spec()
    try:
        return bool(read_manifest(Path(spec.out))["key"] == spec.key)
    except (NotFound, InputError):
        return False


def _find_hardware() -> Hardware:
    import torch

    if not torch.cuda.is_available():
        return Hardware("cpu", bf16=False)
    return Hardware(
        f"cuda:{torch.cuda.get_device_name(0)}",
        bf16=torch.cuda.is_bf16_supported(including_emulation=False),
    )


def _log(text: str) -> None:
    print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}", flush=True)


def _prepare(folder: FinetuneFolder) -> tuple[Any, Any, Hardware]:
    """Return the tokenizer, the trainer with the model and its new adapter, and the hardware.

    Raise InputError for a model that is too large and for examples that are too long.
    """
    import torch
    from datasets import Dataset
    from peft import LoraConfig
    from transformers import AutoModelForCausalLM, AutoTokenizer, set_seed
    from trl import SFTTrainer

    spec, hardware = folder.spec(), _find_hardware()
    settings = spec.settings
    set_seed(settings["seed"])  # the adapter begins with random numbers
    tokenizer = AutoTokenizer.from_pretrained(spec.base)
    longest = settings["length"]
    rows = {
        name: Dataset.from_list(
            encode(list(map(json.loads, file.read_text("utf-8").splitlines())), tokenizer, longest)
        )
        for name, file in (("train", folder.train), ("validation", folder.validation))
    }
    model = AutoModelForCausalLM.from_pretrained(
        spec.base, dtype=torch.bfloat16 if hardware.bf16 else torch.float32
    )
    size = sum(weights.numel() for weights in model.parameters())
    if size >= spec.most_parameters_b * 1e9:
        raise InputError(
            f"base {spec.base}: has {size:,} parameters, expected fewer than"
            f" {spec.most_parameters_b:g} billion"
        )
    _log(f"{size:,} parameters on {hardware.device}, {'bfloat16' if hardware.bf16 else 'float32'}")
    lora = LoraConfig(
        r=settings["rank"],
        lora_alpha=settings["alpha"],
        lora_dropout=settings["dropout"],
        target_modules="all-linear",  # every projection of attention and MLP, not the head
        task_type="CAUSAL_LM",
    )
    trainer = SFTTrainer(
        model=model,
        args=_arguments(folder, settings, hardware),
        train_dataset=rows["train"],
        eval_dataset=rows["validation"],
        processing_class=tokenizer,
        peft_config=lora,
    )
    return tokenizer, trainer, hardware


def _arguments(folder: FinetuneFolder, settings: Mapping[str, Any], hardware: Hardware) -> Any:
    """Return the settings as trl takes them."""
    from trl import SFTConfig

    return SFTConfig(
        output_dir=str(folder.checkpoints),
        num_train_epochs=settings["epochs"],
        learning_rate=settings["learning_rate"],
        lr_scheduler_type="cosine",
        warmup_steps=settings["warmup"],  # below 1 it is a share of all steps
        per_device_train_batch_size=settings["batch"],
        per_device_eval_batch_size=settings["batch"],
        gradient_accumulation_steps=settings["accumulate"],
        max_length=settings["length"],
        dataset_kwargs={"skip_prepare_dataset": True},  # the examples are tokens already
        seed=settings["seed"],
        data_seed=settings["seed"],
        use_cpu=hardware.device == "cpu",
        bf16=hardware.bf16,
        fp16=False,
        gradient_checkpointing=hardware.device != "cpu",
        logging_strategy="steps",
        logging_steps=1,
        logging_first_step=True,
        eval_strategy="epoch",
        save_strategy="steps",
        save_steps=settings["checkpoint_every"],
        save_total_limit=KEPT_CHECKPOINTS,
        report_to="none",
        disable_tqdm=True,
    )


def _callback(folder: FinetuneFolder, reporter: Reporter, stopping: threading.Event) -> Any:
    """Return what a trainer calls after each step: records progress, marks checkpoints, ends the
    work if it is to stop."""
    from transformers import TrainerCallback

    class Report(TrainerCallback):  # type: ignore[misc, unused-ignore]
        def on_train_begin(self, _args: Any, state: Any, _control: Any, **_others: Any) -> None:
            self.first_step, self.begun = state.global_step, time.monotonic()

        def on_step_end(self, _args: Any, state: Any, control: Any, **_others: Any) -> None:
            step, steps = state.global_step, state.max_steps
            left_s = (time.monotonic() - self.begun) / (step - self.first_step) * (steps - step)
            losses = [entry["loss"] for entry in state.log_history if "loss" in entry]
            loss = f" · loss {losses[-1]:.3f}" if losses else ""
            what = f"step {step:,} of {steps:,}{loss} · {describe_duration(left_s)} left"
            reporter.update(step=step, share=step / steps, what=what)
            if stopping.is_set():
                control.should_save = control.should_training_stop = True

        def on_log(self, _args: Any, state: Any, _control: Any, **_others: Any) -> None:
            folder.write_losses(read_losses(state.log_history))

        def on_save(self, args: Any, state: Any, _control: Any, **_others: Any) -> None:
            mark_whole(Path(args.output_dir) / f"checkpoint-{state.global_step}")

    return Report()


def read_losses(log: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return step, epoch, and loss or validation_loss of each entry of a trainer's log that has
    one."""
    names = {"loss": "loss", "eval_loss": "validation_loss"}
    return [
        {"step": int(entry["step"]), "epoch": float(entry["epoch"]), name: float(entry[key])}
        for entry in log
        for key, name in names.items()
        if key in entry
    ]


def _describe(trainer: Any, spec: FinetuneSpec, hardware: Hardware) -> dict[str, Any]:
    """Return what the manifest holds of the training: steps, the last losses, the base's content,
    versions and hardware."""
    from importlib.metadata import version

    losses = read_losses(trainer.state.log_history)
    last = {
        name: next((each[name] for each in reversed(losses) if name in each), None)
        for name in ("loss", "validation_loss")
    }
    return {
        "steps": trainer.state.global_step,
        **last,
        # of one that was fetched
        "base_revision": getattr(trainer.model.config, "_commit_hash", None),
        "base_files": hashes_of(Path(spec.base)) if Path(spec.base).is_dir() else {},
        "device": hardware.device,
        "dtype": "bfloat16" if hardware.bf16 else "float32",
        "packages": {name: version(name) for name in ("torch", "transformers", "trl", "peft")},
    }


def encode(
    examples: Sequence[Mapping[str, Any]], tokenizer: Any, longest: int
) -> list[dict[str, list[int]]]:
    """Return input_ids and labels of each example.

    A prompt goes through the tokenizer's chat template and is tokenised by itself, as a server
    does. Raise InputError for a tokenizer without a template, and for an example longer than
    `longest` tokens: its answer would be cut off.
    """
    if not getattr(tokenizer, "chat_template", None):
        raise InputError("base: its tokenizer has no chat template, expected a model that chats")
    encoded = []
    for example in examples:
        messages = [{"role": "user", "content": example["prompt"]}]
        prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        start = tokenizer(prompt, add_special_tokens=False)["input_ids"]
        answer = f"{end_of_thinking(prompt)}{example['answer']}{tokenizer.eos_token}"
        end = tokenizer(answer, add_special_tokens=False)["input_ids"]
        encoded.append({"input_ids": [*start, *end], "labels": [IGNORED] * len(start) + [*end]})
    long = [
        (len(each["input_ids"]), example["id"])
        for each, example in zip(encoded, examples, strict=True)
    ]
    too_long = [(n, name) for n, name in long if n > longest]
    if too_long:
        n, name = max(too_long)
        raise InputError(
            f"{len(too_long):,} of {len(long):,} rows have more than {longest:,} tokens, {name}"
            f" {n:,}; raise length"
        )
    return encoded


def end_of_thinking(prompt: str) -> str:
    """Return what closes the thoughts that a template opened at the end of a prompt; "" if it
    opened none."""
    return "\n</think>\n\n" if prompt.rstrip().endswith("<think>") else ""


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""The process of a fine-tune with a trainer that needs no torch: `python -m soak.small_trainer FOLDER`.

All but the model is what `core.features.finetune.train` has: lock, heartbeats, whole checkpoints, losses, the merged folder, the ending.
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

from core.features.finetune import train
from core.features.finetune.job_folder import FinetuneFolder, last_whole, mark_whole, write_manifest
from core.runs.jobs.state import record_ending
from core.runs.jobs.work import Reporter, describe_early_end

STEPS, STEP_S = 60, 0.05


def work(folder: FinetuneFolder, reporter: Reporter, stopping: threading.Event) -> None:
    """Train: a step adds its number to a sum, which is the model."""
    checkpoint = last_whole(folder.checkpoints)
    step, model = (
        (0, 0) if checkpoint is None else map(int, (checkpoint / "model").read_text().split())
    )
    while step < STEPS:
        time.sleep(STEP_S)
        step, model = step + 1, model + step + 1
        reporter.update(step=step, share=step / STEPS)
        if step % 5 == 0 or stopping.is_set():
            place = folder.checkpoints / f"checkpoint-{step}"
            place.mkdir(parents=True, exist_ok=True)
            (place / "model").write_text(f"{step} {model}")
            mark_whole(place)
        if stopping.is_set():
            record_ending(folder, *describe_early_end(folder))
            return
    out = Path(folder.spec().out)
    out.mkdir(parents=True, exist_ok=True)
    for name, text in (("config.json", "{}"), ("model.safetensors", str(model))):
        (out / name).write_text(text)
    write_manifest(out, folder.spec(), {"steps": STEPS, "loss": 1 / STEPS, "validation_loss": None})
    record_ending(folder, "done", steps=STEPS, loss=1 / STEPS)


if __name__ == "__main__":
    train._work = work
    sys.exit(train.main(sys.argv[1]))

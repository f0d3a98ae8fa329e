"""The process of a fine-tune with a trainer that needs no torch: `python -m soak.small_trainer FOLDER`.

All but the model is what `core.finetune.train` has: lock, heartbeats, whole checkpoints, losses, the merged folder, the ending.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from core.finetune import train
from core.finetune.job_folder import FinetuneFolder, last_whole, mark_whole
from core.finetune.merge import write_manifest
from core.finetune.status import Reporter
from core.jobs.work import describe_early_end

STEPS, STEP_S = 60, 0.05


def work(folder: FinetuneFolder, reporter: Reporter) -> None:
    """Train: a step adds its number to a sum, which is the model."""
    reporter.enter("training")
    checkpoint = last_whole(folder.checkpoints)
    step, model = (0, 0) if checkpoint is None else map(int, (checkpoint / "model").read_text().split())
    while step < STEPS:
        time.sleep(STEP_S)
        step, model = step + 1, model + step + 1
        reporter.update(step=step, steps=STEPS, rows=step, all_rows=STEPS, loss=1 / step)
        if step % 5 == 0 or reporter.is_to_stop:
            place = folder.checkpoints / f"checkpoint-{step}"
            place.mkdir(parents=True, exist_ok=True)
            (place / "model").write_text(f"{step} {model}")
            mark_whole(place)
        if reporter.is_to_stop:
            folder.write_ending(*describe_early_end(folder.worker))
            return
    reporter.enter("merging")
    out = Path(folder.spec().out)
    out.mkdir(parents=True, exist_ok=True)
    for name, text in (("config.json", "{}"), ("model.safetensors", str(model))):
        (out / name).write_text(text)
    write_manifest(out, folder.spec(), {"steps": STEPS, "loss": 1 / STEPS, "validation_loss": None})
    folder.write_ending("done", path=str(out), steps=STEPS, loss=1 / STEPS)


if __name__ == "__main__":
    train._work = work
    sys.exit(train.main(sys.argv[1]))

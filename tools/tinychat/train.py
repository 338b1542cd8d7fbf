"""Trains tinychat and writes it as a GGUF file; needs torch and numpy, and uses a CUDA device if there is one.

    python3 train.py --dir build/tinychat --minutes 8

Writes checkpoint.pt and tinychat.gguf into the folder once a minute and at the end, whatever ends the training: the
time, the number of steps, a signal, an error. Prints how many held-out cases the model answers exactly.

The layer that predicts the token after next is trained with the model, as DeepSeek-V3's was (arXiv:2412.19437, section
2.2), and for a second step on its own hidden states, since it guesses several tokens in a row. Experts are balanced
without an auxiliary loss: after every step the selection bias of an expert that got more than its share goes down a
little and that of the others up (arXiv:2408.15664).
"""

import argparse
import contextlib
import math
import os
import signal
import subprocess
import time
import traceback
from pathlib import Path

import torch
import torch.nn.functional as F

import amx
import batches
import export
import measure
from model import CONFIG, Model

WARMUP_STEPS = 200
BIAS_RATE = 2e-3
WEIGHT_DECAY = 0.1
MTP_STEPS, MTP_SHARE = 2, 0.3  # of the loss, over all steps
IGNORED = -100
SHARES = [1.0] + MTP_STEPS * [MTP_SHARE / MTP_STEPS]  # of the loss
LOOK_STEPS = 50  # how often the gradient is looked at
REPORT_SECONDS, SAVE_SECONDS = 15, 60
END_SECONDS = 30  # kept free for what comes after the training

# For trials on a CPU: a quarter of the weights.
SMALL = dict(hidden_size=128, num_hidden_layers=4, q_lora_rank=64, kv_lora_rank=64, intermediate_size=384,
             n_routed_experts=4, moe_intermediate_size=64)


def targets(tokens, segments, answers) -> torch.Tensor:
    """What each token of a row is followed by, where an assistant wrote that."""
    after = F.pad(tokens[:, 1:], (0, 1))
    return torch.where(F.pad((answers & (segments > 0))[:, 1:], (0, 1)), after, IGNORED)


def losses(model: Model, tokens, segments, answers) -> list:
    """Mean nats per token of answers: the model's, then those of the layer that predicts."""
    wanted = targets(tokens, segments, answers).flatten()
    return [F.cross_entropy(logits.float().flatten(0, 1), wanted, ignore_index=IGNORED)
            for logits in model(tokens, segments, MTP_STEPS)]


def on_tiles(model: Model) -> amx.Amx | None:
    """What computes gradients on this machine's CPU, if that has AMX."""
    try:
        return amx.Amx(model, MTP_STEPS, SHARES, os.cpu_count() or 1)
    except (OSError, subprocess.CalledProcessError) as e:
        print(f"without AMX: {e}", flush=True)


def balance(model: Model, rate: float) -> torch.Tensor:
    """Moves the selection biases towards even load; returns the largest expert's load over the even share."""
    worst = []
    for layer in model.blk:
        if not layer.dense:
            load = layer.load
            layer.exp_probs_b.bias.add_(rate * torch.sign(load.mean() - load))
            worst.append(load.max() / load.mean())
            load.zero_()
    return torch.stack(worst).max()


class Training:
    def __init__(self, args: argparse.Namespace):
        self.args, self.started = args, time.monotonic()
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        torch.manual_seed(args.seed)
        torch.set_float32_matmul_precision("high")
        self.config = CONFIG | (SMALL if args.small else {})
        self.model, self.step = Model(self.config), 0
        if args.resume:
            checkpoint = torch.load(args.resume, map_location="cpu")
            self.model.load_state_dict(checkpoint["state"])  # which makes floats of halves
            self.step = checkpoint["step"]
        self.model.to(self.device)
        self.first = self.step
        matrices = [p for p in self.model.parameters() if p.ndim >= 2]
        vectors = [p for p in self.model.parameters() if p.ndim < 2]
        self.optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": WEIGHT_DECAY},
                                            {"params": vectors, "weight_decay": 0.0}], lr=args.rate, betas=(0.9, 0.98), fused=True)
        self.good = self.state()
        self.losses = lambda *batch: losses(self.model, *batch)
        self.amx = on_tiles(self.model) if self.device.type == "cpu" and not args.eager else None
        self.stopped = False  # by a signal

    def seconds(self) -> float:
        return time.monotonic() - self.started

    def progress(self) -> float:
        """The share of the run that is over, by time or by steps."""
        return max(self.seconds() / (60 * self.args.minutes - END_SECONDS), (self.step - self.first) / self.args.steps)

    def rate(self) -> float:
        """The share of the peak rate: linear warm-up, then linear decay to 0."""
        return max(0.0, min((self.step - self.first + 1) / WARMUP_STEPS, 1 - self.progress()))

    def halves(self):
        """Products in bfloat16 on a GPU."""
        return torch.autocast("cuda", torch.bfloat16) if self.device.type == "cuda" else contextlib.nullcontext()

    def compile(self, batch) -> None:
        """Compiles the losses, if that works on this machine."""
        try:
            compiled = torch.compile(self.losses, dynamic=False)
            with self.halves():
                sum(compiled(*batch)).backward()
            self.losses = compiled
        except Exception:
            traceback.print_exc()
            print("not compiled", flush=True)
        self.optimizer.zero_grad(set_to_none=True)
        print(f"compiled after {self.seconds():.0f} s", flush=True)

    def uncompiled(self) -> None:
        """Leaves the compiler out, after an error that may have been its."""
        self.args.eager = True
        self.losses = lambda *batch: losses(self.model, *batch)
        self.model.load_state_dict(self.good)
        self.optimizer.zero_grad(set_to_none=True)

    def gradients(self, tokens, segments, answers) -> list:
        """Sets the gradients of the model; returns the losses."""
        if self.amx:
            return self.amx.losses(tokens, targets(tokens, segments, answers), segments)
        with self.halves():
            parts = self.losses(tokens, segments, answers)
        sum(share * part for share, part in zip(SHARES, parts)).backward()
        return parts

    def one_step(self, batch) -> tuple[list, torch.Tensor]:
        rate = self.rate()
        for group in self.optimizer.param_groups:
            group["lr"] = self.args.rate * rate
        parts = self.gradients(*batch)
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        if self.step % LOOK_STEPS or math.isfinite(norm.item()):  # a look waits for the device
            self.optimizer.step()
        else:
            self.go_back()
        self.optimizer.zero_grad(set_to_none=True)
        self.step += 1
        return [p.detach() for p in parts], balance(self.model, BIAS_RATE * rate)

    def go_back(self) -> None:
        """Begins again with what was saved last, more slowly."""
        self.args.rate /= 2
        print(f"step {self.step}: the gradient is not finite; going on from the weights saved last, at half the rate",
              flush=True)
        self.model.load_state_dict(self.good)
        self.optimizer.state.clear()

    def state(self) -> dict:
        return {name: value.detach().cpu().clone() for name, value in self.model.state_dict().items()}

    def run(self) -> None:
        workers = self.args.workers
        source = batches.stream(self.args.seed, self.step, self.args.rows, self.args.row, workers)
        with contextlib.closing(source):
            self.train_on(source, workers)

    def train_on(self, source, workers: int) -> None:
        cases = measure.padded(self.args.cases, self.device)
        print(f"{sum(p.numel() for p in self.model.parameters())} weights on {self.device}, {workers} workers, "
              f"{sum(len(c.tokens) for c in cases.values())} held-out cases", flush=True)
        reported = saved = self.seconds()
        tokens = 0
        for made in source:
            batch = [torch.from_numpy(a).to(self.device, non_blocking=True) for a in made]
            batch[0] = batch[0].long()
            if self.step == self.first and self.device.type == "cuda" and not self.args.eager:
                self.compile(batch)
                reported = self.seconds()
            parts, worst = self.one_step(batch)
            tokens += made.tokens.size
            over = self.stopped or self.progress() >= 1
            if over or self.seconds() - reported > REPORT_SECONDS:
                shown = " ".join(f"{p.item():.4f}" for p in parts)
                now = self.seconds()
                print(f"step {self.step} loss {shown} rate {self.args.rate * self.rate():.2e} "
                      f"busiest expert {worst.item():.2f} tokens/s {tokens / (now - reported):.0f} seconds {now:.0f}",
                      flush=True)
                reported, tokens = now, 0
            if over:
                return
            if self.seconds() - saved > self.args.save_seconds:
                self.save()
                print(measure.line(self.model, cases), flush=True)
                saved = reported = self.seconds()
                tokens = 0

    def save(self) -> None:
        folder = self.args.dir
        folder.mkdir(parents=True, exist_ok=True)
        state = self.state()
        if not all(torch.isfinite(value).all() for value in state.values()):
            print("not saved: a weight is not finite", flush=True)
            return
        self.good = state
        halves = {name: value.half() for name, value in state.items()}  # enough to go on from
        torch.save({"state": halves, "config": self.config, "step": self.step}, folder / "checkpoint.partial")
        os.replace(folder / "checkpoint.partial", folder / "checkpoint.pt")
        export.write(folder / "tinychat.gguf", state, self.config)

    def finish(self) -> None:
        """Saves, and measures the weights as they are in the file."""
        self.save()
        cases = measure.padded(self.args.cases, self.device)
        print("as trained\n" + measure.table(self.model, cases), flush=True)
        self.model.load_state_dict(export.as_stored(self.model.state_dict()))
        print("as stored\n" + measure.table(self.model, cases), flush=True)


def main() -> int:
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--dir", type=Path, required=True)
    args.add_argument("--minutes", type=float, default=8, help="from start to end")
    args.add_argument("--steps", type=int, default=1_000_000)
    args.add_argument("--rows", type=int, default=64, help="of a batch")
    args.add_argument("--row", type=int, default=1024, help="tokens of a row")
    args.add_argument("--rate", type=float, default=3e-3, help="peak learning rate")
    args.add_argument("--workers", type=int, default=max(0, min(12, (os.cpu_count() or 1) - 2)))
    args.add_argument("--cases", type=int, default=64, help="held-out cases of each kind to look at on the way")
    args.add_argument("--save-seconds", type=float, default=SAVE_SECONDS)
    args.add_argument("--seed", type=int, default=0)
    args.add_argument("--resume", type=Path, help="checkpoint to go on from")
    args.add_argument("--small", action="store_true", help="a smaller model, to try the program without a GPU")
    args.add_argument("--eager", action="store_true", help="do not compile")
    training = Training(args.parse_args())

    def stop(*_) -> None:
        training.stopped = True

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    code = 1
    for _ in range(2):
        try:
            training.run()
            code = 0
            break
        except Exception:
            traceback.print_exc()
            training.uncompiled()
    training.finish()
    print(f"{training.step} steps in {training.seconds():.0f} s: {training.args.dir / 'tinychat.gguf'}", flush=True)
    return code


if __name__ == "__main__":
    raise SystemExit(main())

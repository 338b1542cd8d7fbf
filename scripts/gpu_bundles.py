"""Programs and small bundle files for measurements on a machine without Go and clang."""
import glob
import os
import shutil
import subprocess


def prepare(folder, models, quants, acts, programs=(), predicting=()):
    """Builds mlarun, mlagen and further programs, and a bundle file of each model with kernels for NVIDIA GPUs for
    some types of files and activations alone: those of all types are too many to carry about. Of the models in
    `predicting` with the layer that predicts. Needs Go and clang-19."""
    os.makedirs(folder, exist_ok=True)
    build = ["go", "build", "-trimpath", "-ldflags", "-s -w", "-o", folder + "/"]
    env = dict(os.environ, CGO_ENABLED="0")
    subprocess.run(build + ["-tags", "release", "./cmd/mlarun", "./cmd/mlagen"], check=True, env=env)
    for program in programs:
        subprocess.run(build + [program], check=True, env=env)
    for model in models:
        spec = f"{folder}/{model}.yaml"
        with open(f"specs/{model}.yaml") as whole, open(spec, "w") as part:
            part.write(derived(whole.read(), quants, acts, model in predicting))
        os.makedirs(f"{folder}/tuning", exist_ok=True)  # mlagen looks for the tuning beside the spec
        for tuning in glob.glob(f"specs/tuning/{model}.*"):
            shutil.copy(tuning, f"{folder}/tuning")
        subprocess.run([f"{folder}/mlagen", "-spec", spec, "-ptx", "-o", f"{folder}/{model}.mla"], check=True)


def derived(spec, quants, acts, predicts):
    """A spec with what is measured alone."""
    lines, skipping = [], False
    for line in spec.splitlines():
        skipping = skipping and line.startswith(" ")
        if skipping:
            continue
        if line.startswith("quants:"):
            line, skipping = f"quants: [{', '.join(quants)}]", True
        if line.startswith("activations:"):
            line = f"activations: [{', '.join(acts)}]"
        if line.startswith("# yaml-language-server"):
            continue
        lines.append(line)
        if predicts and line.startswith("  max_position_embeddings:"):
            lines.append("  num_nextn_predict_layers: 1")
    return "\n".join(lines) + "\n"

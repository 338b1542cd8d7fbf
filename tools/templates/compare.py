"""Compares package jinja with Python's jinja2 on a folder of chat templates.

    pip install jinja2==3.1.6 && python3 tools/templates/compare.py FOLDER [CONVERSATIONS.json...]

Every *.jinja of the folder is rendered with every conversation: those of
runtime/text/chat/testdata, and of the files that are named, which are lists of objects with
messages, tools and other variables. The arguments of calls are tried as objects and as text.
Prints what differs, and a line for each template.
"""
import copy
import functools
import json
import pathlib
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(root / "runtime/text/chat/jinja/testdata"))
from reference import environment  # noqa: E402


def conversations(files):
    for file in files:
        for c in json.loads(pathlib.Path(file).read_text()):
            variables = {"tools": None, "documents": None, "bos_token": "<|bos|>", "eos_token": "<|eos|>", "add_generation_prompt": True}
            variables |= {k: v for k, v in c.items() if k not in ("name", "options")} | c.get("options", {})
            yield f"{pathlib.Path(file).name}: {c.get('name', '?')}", variables


def as_objects(variables):
    variables = copy.deepcopy(variables)
    for message in variables["messages"]:
        for call in message.get("tool_calls") or []:
            if isinstance(call["function"]["arguments"], str):
                call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return variables


@functools.cache
def compiled(template):
    return environment().from_string(template)


def by_jinja2(template, variables):
    try:
        return {"text": compiled(template).render(**copy.deepcopy(variables))}
    except Exception as e:
        return {"error": f"{type(e).__name__}: {e}"}


def by_go(program, jobs):
    lines = "".join(json.dumps({"template": t, "vars": v}) + "\n" for t, v in jobs)
    out = subprocess.run([program], input=lines, capture_output=True, text=True)
    if out.returncode:
        sys.exit(out.stderr)
    return [json.loads(line) for line in out.stdout.split("\n") if line]


def compare(program, path, files):
    """Prints what differs of a template, and returns how many renderings are of which kind."""
    jobs, names = [], []
    for name, variables in conversations(files):
        for form in (variables, as_objects(variables)):
            jobs.append((path.read_text(), form))
            names.append(name)
    counts = {}
    for name, (template, variables), got in zip(names, jobs, by_go(program, jobs), strict=True):
        want = by_jinja2(template, variables)
        kind = "same" if got.get("text") == want.get("text") and ("error" in got) == ("error" in want) else "differs"
        kind = "both refuse" if kind == "same" and "error" in want else kind
        counts[kind] = counts.get(kind, 0) + 1
        if kind == "differs":
            print(f"{path.name}, {name}:\n  ours   {got}\n  jinja2 {want}")
    return counts


def main():
    files = sys.argv[2:] or [root / "runtime/text/chat/testdata/conversations.json", root / "runtime/text/chat/testdata/tools/conversations.json"]
    different = False
    with tempfile.TemporaryDirectory() as build:
        program = f"{build}/templates"
        subprocess.run(["go", "build", "-o", program, "./tools/templates"], cwd=root, check=True)
        for path in sorted(pathlib.Path(sys.argv[1]).glob("*.jinja")):
            counts = compare(program, path, files)
            different = different or "differs" in counts
            print(path.name, ", ".join(f"{n} {kind}" for kind, n in sorted(counts.items())), flush=True)
    return different


if __name__ == "__main__":
    sys.exit(main())

"""Renders the conversations of conversations.json with templates that declare tools, by jinja2 as
Hugging Face's apply_chat_template sets it up, and writes goldens.json.

    pip install jinja2==3.1.6 && python3 goldens.py
"""
import json, pathlib
import jinja2, jinja2.sandbox

here = pathlib.Path(__file__).parent
env = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


env.filters["tojson"] = tojson
goldens = []
for name, text_arguments in [("../glm-4.7-flash", False), ("hermes", False), ("sections", True)]:
    template = env.from_string((here / (name + ".jinja")).read_text())
    for c in json.loads((here / "conversations.json").read_text()):
        for m in c["messages"]:
            for call in m.get("tool_calls", []):
                if not text_arguments:
                    call["function"]["arguments"] = json.loads(call["function"]["arguments"])
        text = template.render(messages=c["messages"], tools=c["tools"], add_generation_prompt=True, documents=None,
                               bos_token="<|bos|>", eos_token="<|eos|>", **c.get("options", {}))
        goldens.append({"template": str((here / name).resolve().relative_to(here.parent)), "conversation": c["name"], "text": text})
(here / "goldens.json").write_text(json.dumps(goldens, indent=1, ensure_ascii=False) + "\n")

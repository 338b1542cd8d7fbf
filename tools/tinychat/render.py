"""Writes conversations in GLM-4.7-Flash's chat format, as its template does.

A message is {"role", "content"} and, of an assistant, "reasoning" and "calls", a list of {"name", "arguments"}. A
test of package exam compares the text with that of the project's renderer, another that of the template itself.
"""

import json

TOOLS_BEGIN = """<|system|>
# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
"""
TOOLS_END = """</tools>

For each function call, output the function name and arguments within the following XML format:
<tool_call>{function-name}<arg_key>{arg-key-1}</arg_key><arg_value>{arg-value-1}</arg_value>\
<arg_key>{arg-key-2}</arg_key><arg_value>{arg-value-2}</arg_value>...</tool_call>"""


def calls_text(calls: list[dict]) -> str:
    """Strings stand as they are, other values as JSON."""
    text = ""
    for call in calls:
        text += "<tool_call>" + call["name"]
        for key, value in call["arguments"].items():
            value = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            text += f"<arg_key>{key}</arg_key><arg_value>{value}</arg_value>"
        text += "</tool_call>"
    return text


def answer_text(message: dict, thinking: bool) -> str:
    """What an assistant writes after the <think> or </think> that the prompt ends with, without the end's token."""
    text = message["content"].strip() + calls_text(message.get("calls", []))
    return message["reasoning"].strip() + "</think>" + text if thinking else text


def render(messages: list[dict], tools: list[dict], keep_thinking: bool = False) -> str:
    """The text of a conversation, without the beginning of an answer."""
    text = "[gMASK]<sop>"
    if tools:
        text += TOOLS_BEGIN + "".join(json.dumps(tool, ensure_ascii=False) + "\n" for tool in tools) + TOOLS_END
    last_user = max((i for i, m in enumerate(messages) if m["role"] == "user"), default=-1)
    for i, message in enumerate(messages):
        match message["role"]:
            case "system":
                text += "<|system|>" + message["content"]
            case "user":
                text += "<|user|>" + message["content"]
            case "tool":
                if i == 0 or messages[i - 1]["role"] != "tool":
                    text += "<|observation|>"
                text += f"<tool_response>{message['content']}</tool_response>"
            case "assistant":
                thinking = bool(message.get("reasoning")) and (i > last_user or keep_thinking)
                text += "<|assistant|>" + ("<think>" if thinking else "</think>") + answer_text(message, thinking)
    return text


def prompt(messages: list[dict], tools: list[dict], thinking: bool, keep_thinking: bool = False) -> str:
    """The text of a conversation with the beginning of an answer."""
    return render(messages, tools, keep_thinking) + "<|assistant|>" + ("<think>" if thinking else "</think>")

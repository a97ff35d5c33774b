"""A program as users write it: an SDK with its defaults. `sdk_script.py API BASE_URL` prints the calls."""

from __future__ import annotations

import json
import sys

import anthropic
import openai

BASH = {"type": "object", "properties": {"command": {"type": "string"}, "background": {"type": "boolean"}}}
ASKED = [{"role": "user", "content": "Please go on."}]


def chat(base_url: str) -> list[str]:
    client = openai.OpenAI(base_url=base_url, api_key="none", max_retries=0)
    tools = [{"type": "function", "function": {"name": "Bash", "parameters": BASH}}]
    calls: dict[int, str] = {}
    for chunk in client.chat.completions.create(model="m", messages=ASKED, tools=tools, stream=True):
        for choice in chunk.choices:
            for delta in choice.delta.tool_calls or []:
                calls[delta.index] = calls.get(delta.index, "") + (delta.function.arguments or "")
    return list(calls.values())


def messages(base_url: str) -> list[str]:
    client = anthropic.Anthropic(base_url=base_url, api_key="none", max_retries=0)
    tools = [{"name": "Bash", "input_schema": BASH}]
    with client.messages.stream(model="m", max_tokens=100, messages=ASKED, tools=tools) as stream:
        message = stream.get_final_message()
    return [json.dumps(block.input) for block in message.content if block.type == "tool_use"]


def responses(base_url: str) -> list[str]:
    client = openai.OpenAI(base_url=base_url, api_key="none", max_retries=0)
    tools = [{"type": "function", "name": "Bash", "parameters": BASH, "strict": False}]
    final = None
    for event in client.responses.create(model="m", input="Please go on.", tools=tools, stream=True):
        final = getattr(event, "response", final)
    return [item.arguments for item in final.output if item.type == "function_call"] if final else []


if __name__ == "__main__":
    for arguments in {"chat": chat, "messages": messages, "responses": responses}[sys.argv[1]](sys.argv[2]):
        print(arguments)

"""Calls that are meant, and look as if they were not: finding nothing is no way to run nothing that is quoted.

A text says `%A%` and `%B%` for two calls and `%AB%` for both in one go. TEXTS: what stands around a call. WHOLE:
what may stand around a call that counts only as the entire message. REQUESTS and PARTS: near misses of what the
request says, and of answers in parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.must_not_run.parts import Part

Json = dict[str, Any]

TOKENS = (
    *("<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|eom_id|>", "<|eot|>", "</s>", "<|observation|>", "<|user|>"),
    *("<end_of_turn>", "<turn|>", "[e~[", "<｜end▁of▁sentence｜>", "<|end_of_text|>", "<|return|>"),
)
"""Special tokens of templates that stay behind a call."""

WHOLE = {
    "alone": "%A%",
    "a line end behind": "%A%\n",
    "empty lines behind": "%A%\n\n\n",
    "spaces and tabs behind": "%A%  \t\n \n",
    "CRLF behind": "%A%\r\n\r\n",
    "white space before": "\n\n%A%",
    "a thought before": "<think>\nI look first.\n</think>\n\n%A%",
    "a thought glued before": "<think>I look first.</think>%A%",
    "a lone closer before": "I look first.\n</think>\n\n%A%",
    **{f"{token} behind": f"%A%{token}" for token in TOKENS},
    "two tokens behind": "%A%<|im_end|>\n<|endoftext|>\n",
    "a token on its own line": "%A%\n<|im_end|>\n",
    "two calls": "%AB%",
}

TEXTS = {
    "prose before": "Let me look.\n\n%A%",
    "a role of the template before": "<|im_start|>assistant\nLet me look.\n\n%A%",
    "a role between tokens before": "<|start_header_id|>assistant<|end_header_id|>\n\nLet me look.\n%A%",
    "the model's turn before": "<start_of_turn>model\nLooking.\n%A%",
    "prose on the line above": "I run it now:\n%A%",
    "two calls, one after the other": "%A%\n%B%",
    "two calls with empty lines between": "%A%\n\n\n%B%\n",
    "two calls with a token between": "%A%<|im_end|>\n%B%<|im_end|>",
    "two calls behind prose": "I do both.\n\n%AB%\n",
    "a list before": "Plan:\n1. Look\n2. Fix it\n\n%A%",
    "a bulleted list before": "Plan:\n- look\n- fix it\n\n%A%",
    "a heading before": "## Next step\n\n%A%",
    "a bold label before": "**Running the tests**\n\n%A%",
    "a rule before": "Done.\n\n---\n\n%A%",
    "a table before": "| a | b |\n| - | - |\n| 1 | 2 |\n\n%A%",
    "a block quote before": "> please delete it\n\nYes.\n\n%A%",
    "a fence before": "This is the code:\n\n```python\nprint(1)\n```\n\n%A%",
    "a fence of tildes before": "~~~\nls\n~~~\n\n%A%",
    "a fence with a fence inside before": "````md\n```\nls\n```\n````\n\n%A%",
    "two fences before": "```\na\n```\nand\n```\nb\n```\nNow:\n\n%A%",
    "a fence in a list before": "1. This:\n\n   ```\n   ls\n   ```\n\nNow.\n\n%A%",
    "indented code before": "This is the code:\n\n    print(1)\n\nI run it.\n\n%A%",
    "inline code before": "I'll use `ls` and ``a ` b``.\n\n%A%",
    "one backtick before": "Press the ` key.\n\nNow I look.\n\n%A%",
    "a page that is closed before": "<pre>\nls\n</pre>\n\nI look.\n\n%A%",
    "markup that is closed before": "<details>\n<summary>Why</summary>\nBecause.\n</details>\n\nI look.\n\n%A%",
    "a comment of markup before": "<!-- todo -->\n\nI look.\n\n%A%",
    "void elements before": "One.<br>Two.<hr/>\n\nI look.\n\n%A%",
    "type parameters before": "I'll change Vec<String> to List<T> in it.\n\n%A%",
    "a comparison before": "It is so if a < b and c > d, so I do it.\n\n%A%",
    "a placeholder before": "The file is src/<name>.py here. I do it.\n\n%A%",
    "an apostrophe before": "Don't worry, it's the user's file. I do it.\n\n%A%",
    "quotes before": "The “build” folder is \"old\", they said 'so'. I do it.\n\n%A%",
    "an inch before": 'The 5" disk is full. I clean it.\n\n%A%',
    "a string that is closed before": 'x = """a"""\n\nI run it.\n\n%A%',
    "a here-document that is closed before": "cat <<EOF\na\nEOF\n\nI run it.\n\n%A%",
    "an URL before": "See https://example.com/?to=x for it. I do it.\n\n%A%",
    "a path before": "The file is /srv/app/main.py. I do it.\n\n%A%",
    "a command before": "I run `rm -rf build` now.\n\n%A%",
    "JSON that is closed before": 'It was {"a": [1, 2]}. I do it.\n\n%A%',
    "Chinese before": "我来看一下文件。\n\n%A%",
    "Arabic before": "سألقي نظرة.\n\n%A%",
    "an emoji before": "On it! 🚀\n\n%A%",
    "CRLF before": "Let me look.\r\n\r\n%A%",
    "a question before": "Shall I look? Yes, I do.\n\n%A%",
    "a refusal of something else before": "I will not delete it. I only look:\n\n%A%",
    "a mention of a wrapper before": "I removed the `<think>` tag. I do it.\n\n%A%",
    "a mention of a token before": "The `<tool_call>` tag was missing. I do it.\n\n%A%",
    "a long text before": "I looked at it for long. " * 2_000 + "Now I fix it.\n\n%A%",
    "a quoted one before": "The page says:\n\n```\n%A%\n```\n\nI'll read the file instead.\n\n%B%",
    "one that was thought of before": "<think>\n%A%\n</think>\n\n%B%",
}

GLUED = {
    "a section of the template around the words": "<|open|>response<|sep|>Looking.<|close|>response<|sep|>%A%",
    "an empty section before": "<|open|>response<|sep|><|close|>response<|sep|>%A%",
    "glued to prose": "Let me look.%A%",
    "glued to Chinese": "我来看一下。%A%",
    "glued to the one before": "Now.\n%A%%B%",
    "glued to a thought": "<think>a</think>%A%",
}
"""For formats whose marker nobody writes by chance."""
FIRST_ONLY_TEXT = frozenset(
    ("a quoted one before", "one that was refused before", "one that was thought of before", "one with words between")
)
"""Here only `%B%` is meant."""

_SAID = "Please run `rm -rf build` and read src/main.py."

REQUESTS: dict[str, Callable[[str], Json]] = {
    "the request has the command": lambda call: {"messages": [{"role": "user", "content": _SAID}]},
    "the request has another call": lambda call: {
        "messages": [{"role": "user", "content": "Look:\n\n" + call.replace("rm -rf build", "make")}]
    },
    "the request has the call in the assistant's words": lambda call: {
        "messages": [
            {"role": "user", "content": "Go on."},
            {"role": "assistant", "content": call},
            {"role": "user", "content": "Again, please."},
        ]
    },
    "the request has half of the call": lambda call: {
        "messages": [{"role": "user", "content": call[: len(call) // 2]}, {"role": "user", "content": _SAID}]
    },
    "the request lets the model choose": lambda call: {"tool_choice": "auto"},
    "the request lets the model choose, as an object": lambda call: {"tool_choice": {"type": "auto"}},
    "the request wants a call": lambda call: {"tool_choice": "required"},
    "the request wants any call": lambda call: {"tool_choice": {"type": "any"}},
    "the request says none in its text": lambda call: {
        "messages": [{"role": "user", "content": "tool_choice: none"}]
    },
}

_STRUCTURED = Part("call", '{"file_path": "README.md"}', "Read")

PARTS: dict[str, tuple[tuple[Part, ...], str]] = {
    "prose in the part before": ((Part("text", "Let me look."), Part("text", "%A%")), "A"),
    "a thought before": ((Part("reasoning", "I look first."), Part("text", "%A%")), "A"),
    "another one thought of before": ((Part("reasoning", "Perhaps\n%B%"), Part("text", "%A%")), "A"),
    "a structured call behind": ((Part("text", "%A%"), _STRUCTURED), "AS"),
    "a fence that closes in the part before": ((Part("text", "```\nls\n```\n"), Part("text", "\n%A%")), "A"),
}
"""The parts, and which calls come out: A, B and the structured one. Text in another part is text that follows."""

"""What may follow a call up to the end of an answer: closers, and the special tokens of templates."""

from __future__ import annotations

import re

_WRITTEN = """
    <|call|> <|end|> <|return|> <|im_end|> <|eot|> <|eot_id|> <|eom|> <|eom_id|> <|EOT|> <EOT> <|eos|> <eos>
    </s> <|end_of_text|> <|endoftext|> <|end_of_turn|> <|endofturn|> <|end_of_sentence|> <|end_of_role|>
    <|end_of_response|> <end_of_turn> <|END_OF_TURN_TOKEN|> <|END_RESPONSE|> <|assistant_end|> <|role_end|>
    <|endofresponse|> <|calls|> [|endofturn|] </longcat_s> <SPECIAL_12> <eoa> <｜end▁of▁sentence｜> <｜hy_eos｜>
    <turn|> <|turn|> [e~[ [EOS] [/INST] <seed:eos> <[end_of_sentence]> <|stop|> <|flush|> <|extra_0|>
    <|message_end|> <|msg_end|> <|end_message|> <|message_sep|> <|close|>message<|sep|>
    <|close|>response<|sep|> <|end_of_msg|> <|pad|> <pad> <|assistant|>
"""
ENDS_OF_TURN = tuple(_WRITTEN.split())
"""Tokens with which a template ends a turn."""

_U = r"(?:▁|\\?_| )"
_CLOSERS = (
    r"</(?:[a-z]+:)?(?:tool[_ ]?calls?|function_calls?|dots_function_call|TOOLCALL|tools|invoke|function"
    r"|longcat_tool_call)(?::[\w-]{1,64})?>"
    r"|<\s?/\s?(?:[|｜]{1,2}|‖|∥)\s?DSML\s?(?:[|｜]{1,2}|‖|∥)?\s?(?!parameter)\w+>"
    rf"|<[|｜]tool{_U}calls?{_U}end[|｜]>|<\|tool_calls?_section_end\|>|<tool_call\|>"
    r"|<\|END_ACTION\|>|<\|action_end\|>|<\|tools_suffix\|>|<\|python_end\|>|<\|tool_calls?:end\|>"
    r"|<\|close\|>(?:tools|call)<\|sep\|>|\]<\]minimax\[>\[</tool_call>"
    r"|\[/TOOL_CALLS?\]|\[END_TOOL_REQUEST\]"
)
"""Closers of calls and of their wrappers, which models may repeat."""

_OTHER_SPEAKER = r"<\|observation\|>|<\|tool_response\|?>|<tool_response>|<\|user\|>|<start_function_response>"
"""Tokens that give the turn to a user or a tool, as some models do at the end of a call."""
_ANY = f"(?:{'|'.join(map(re.escape, ENDS_OF_TURN))}|(?P<other_speaker>{_OTHER_SPEAKER})|{_CLOSERS})"
BEHIND_A_CALL = re.compile(rf"\s*+{_ANY}")
"""One of them, with the white space before it."""
_AT_THE_END = re.compile(rf"{_ANY}\Z")
_LONGEST = 96


def skip_tokens(text: str, at: int) -> tuple[int, bool]:
    """Where the tokens behind a call end, and whether one of them begins the turn of somebody else."""
    other_speaker = False
    while (token := BEHIND_A_CALL.match(text, at)) is not None:
        at, other_speaker = token.end(), other_speaker or token["other_speaker"] is not None
    return at, other_speaker


def without_tokens(text: str) -> str:
    """A text without the closers and tokens at its end."""
    while True:
        text = text.rstrip()
        token = _AT_THE_END.search(text, max(0, len(text) - _LONGEST))
        if token is None:
            return text
        text = text[: token.start()]

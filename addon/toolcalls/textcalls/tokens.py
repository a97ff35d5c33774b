"""What may follow a call up to the end of an answer: surplus closers, and the special tokens of templates."""

from __future__ import annotations

CLOSERS = (
    "</tool_call>",
    "</toolcall>",
    "</tool_calls>",
    "</function_calls>",
    "</function_call>",
    "</minimax:tool_call>",
    "</seed:tool_call>",
    "</longcat_tool_call>",
    "</TOOLCALL>",
    "</function>",
    "</invoke>",
    "</tools>",
    "[/TOOL_CALLS]",
    "[/TOOL_CALL]",
    "[END_TOOL_REQUEST]",
    "<|tool_call_end|>",
    "<|tool_calls_section_end|>",
    "<|tool_call_section_end|>",
    "<｜tool▁call▁end｜>",
    "<｜tool▁calls▁end｜>",
    "<tool_call|>",
    "<|END_ACTION|>",
    "<|action_end|>",
    "<|tools_suffix|>",
    "<|python_end|>",
    "<|tool_call:end|>",
    "<|tool_calls:end|>",
)
"""Closers of calls and of their wrappers, which models may repeat."""

ENDS_OF_TURN = (
    "<|call|>",
    "<|end|>",
    "<|return|>",
    "<|im_end|>",
    "<|eot|>",
    "<|eot_id|>",
    "<|eom|>",
    "<|eom_id|>",
    "<|EOT|>",
    "<EOT>",
    "<|eos|>",
    "<eos>",
    "</s>",
    "<|end_of_text|>",
    "<|endoftext|>",
    "<|end_of_turn|>",
    "<|endofturn|>",
    "<|end_of_sentence|>",
    "<|end_of_role|>",
    "<|end_of_response|>",
    "<end_of_turn>",
    "<|END_OF_TURN_TOKEN|>",
    "<|END_RESPONSE|>",
    "<|assistant_end|>",
    "<|role_end|>",
    "<|endofresponse|>",
    "<|calls|>",
    "[|endofturn|]",
    "</longcat_s>",
    "<SPECIAL_12>",
    "<eoa>",
    "<｜end▁of▁sentence｜>",
    "<｜hy_eos｜>",
    "<turn|>",
    "<|turn|>",
    "[e~[",
    "[EOS]",
    "[/INST]",
    "<seed:eos>",
    "<[end_of_sentence]>",
    "<|stop|>",
    "<|flush|>",
    "<|extra_0|>",
    "<|observation|>",
    "<|tool_response>",
    "<|tool_response|>",
    "<tool_response>",
    "<|user|>",
    "<|assistant|>",
    "<start_function_response>",
    "<|message_end|>",
    "<|msg_end|>",
    "<|close|>message<|sep|>",
    "<|pad|>",
    "<pad>",
)
"""Tokens with which a template ends a turn, or asks for the result of the call."""

BEGIN_FOREIGN_TURN = frozenset(
    (
        "<|observation|>",
        "<|tool_response>",
        "<|tool_response|>",
        "<tool_response>",
        "<|user|>",
        "<start_function_response>",
    )
)
"""Tokens that give the turn to a user or a tool: whatever the model writes after one is invented."""

BEHIND_A_CALL = (*CLOSERS, *ENDS_OF_TURN)


def without_tokens(call: str) -> str:
    """The text of a call without the closers and tokens that follow it."""
    end = len(call)
    while True:
        while end and call[end - 1].isspace():
            end -= 1
        token = next((token for token in BEHIND_A_CALL if call.endswith(token, 0, end)), "")
        if not token:
            return call[:end]
        end -= len(token)

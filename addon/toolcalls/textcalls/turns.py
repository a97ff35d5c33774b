"""Role markers of chat templates: behind one of a user or a tool, what follows is not what the model says itself."""

from __future__ import annotations

_OTHERS = r"(?:user|human|system|developer|tool|ipython|observation|environment|function|functions\.[\w.-]{1,80})"
_MODEL = r"(?:assistant|model|gpt)"
_ROLE = r"(?:<\|(?:im_start|start_header_id|header_start|start_of_role|start)\|>|<\|turn>|<start_of_turn>)\s?"
"""What stands before the name of a role."""

TURN = (
    rf"(?P<foreign>(?i:{_ROLE}{_OTHERS}\b|<\|(?:user|human|observation|system|tool|tool_response)\|?>"
    r"|<｜user｜>|<｜tool▁outputs?▁begin｜>|<\|(?:user|system)_token\|>|\[\|(?:user|human)\|\]|<\|im_(?:user|system|tool)\|>|\]~b\](?:user|system|tool)\b"
    r"|<\|open\|>message\s{1,4}role=\"(?:user|tool|system)\"|[<‹]｜hy_user｜>)|\[INST\])"
    rf"|(?P<ours>(?i:{_ROLE}{_MODEL}\b|<\|assistant\|>|<｜assistant｜>|<\|chatbot_token\|>|<\|im_assistant\|>|\]~b\](?:ai|assistant)\b"
    r"|<\|open\|>message\s{1,4}role=\"assistant\"|[<‹]｜hy_assistant｜>)|\[/INST\])"
)
"""Matches where the turn of somebody else begins, or that of the model."""

"""The limit that a request sets for the tokens of its answer, and the tokens that the answer reports."""

from __future__ import annotations

from typing import Any

_LIMITS = (
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "maxOutputTokens",
    "max_new_tokens",
    "num_predict",
    "n_predict",
)
_PLACES = ("options", "generationConfig", "generation_config")
_CHOICES = ("n", "candidateCount", "candidate_count")


def tokens_in(usage: object, *keys: str) -> int:
    """The sum of these numbers of tokens; 0 if there are none."""
    values = [usage.get(key) for key in keys] if isinstance(usage, dict) else []
    return sum(value for value in values if isinstance(value, int) and not isinstance(value, bool))


def tokens_of_chat(said: dict[str, Any]) -> int:
    """The tokens that all choices of a Chat chunk or answer have so far; 0 if it does not say so.

    Groq also says it under `x_groq`, Moonshot in the choice.
    """
    choices = said.get("choices")
    places = (said, said.get("x_groq"), *(choices if isinstance(choices, list) else ()))
    return max(_completed(place.get("usage")) for place in places if isinstance(place, dict))


def _completed(usage: object) -> int:
    """The tokens of an answer. xAI counts reasoning beside `completion_tokens`, as its total shows."""
    completed = tokens_in(usage, "completion_tokens")
    details = usage.get("completion_tokens_details") if isinstance(usage, dict) else None
    everything = completed + tokens_in(details, "reasoning_tokens")
    total = tokens_in(usage, "total_tokens") - tokens_in(usage, "prompt_tokens")
    return everything if total == everything else completed


def limit_of(request: dict[str, Any]) -> int | None:
    """The most tokens that a request of any protocol allows, for all choices together; None if it sets no limit."""
    places = [request, *(request.get(place) for place in _PLACES)]
    choices = max(tokens_in(place, key) for place in places for key in _CHOICES)
    limits = [tokens_in(place, key) for place in places for key in _LIMITS]
    return min((limit * max(choices, 1) for limit in limits if limit > 0), default=None)

"""The options: their checks, their sentences, their environment."""

from __future__ import annotations

import pytest

from toolcalls.policy import (
    BY_NAME,
    MIB,
    OPTIONS,
    BadOption,
    check_variables,
    from_environment,
    make_policy,
    read_options,
)

BAD = {
    "toolfix_mode": "on",
    "toolfix_hosts": "not a host",
    "toolfix_tools": "(",
    "toolfix_fallback": "none",
    "toolfix_invalid_tool": "two words",
    "toolfix_truncated": "close",
    "toolfix_zai": "yes",
    "toolfix_zai_after_null": "stop",
    "toolfix_max_held_bytes": "0",
}
FREE = {"toolfix_drop_empty", "toolfix_record"}


@pytest.mark.parametrize("name", sorted(set(BY_NAME) - FREE))
def test_a_bad_value_is_one_sentence_that_says_what_is_allowed(name: str) -> None:
    with pytest.raises(BadOption) as caught:
        read_options({name: BAD.get(name, "maybe")})
    message = str(caught.value)
    assert message.startswith(name) and "is not allowed: " in message and message.endswith(".")
    assert message.startswith(f"{name}=") != BY_NAME[name].secret, "a secret is not said again"


def test_the_defaults_are_those_of_the_contract() -> None:
    policy = make_policy(read_options({}))
    assert policy.max_held_bytes == 16 * MIB
    assert policy.drop_empty == {"pages"}
    assert policy.aggregate and policy.arguments and policy.shape and policy.preflight and policy.text_calls
    assert (policy.fallback, policy.truncated, policy.zai, policy.zai_after_null) == ("auto", "refuse", "auto", "cut")
    assert not policy.null_content
    assert policy.touches("anything")


def test_every_option_has_a_help_text_and_a_default_that_is_allowed() -> None:
    for option in OPTIONS:
        assert option.help.endswith(".") and len(option.help) < 120
        option.check(option.default)


@pytest.mark.parametrize(
    ("text", "size"), [("1", 1), ("512k", 512 * 1024), ("16 MiB", 16 * MIB), ("1GiB", 1024 * MIB), (" 2 m ", 2 * MIB)]
)
def test_sizes_are_read_as_people_write_them(text: str, size: int) -> None:
    assert read_options({"toolfix_max_held_bytes": text})["toolfix_max_held_bytes"] == size


def test_an_unknown_option_is_named_with_the_known_ones() -> None:
    with pytest.raises(BadOption, match=r"there is no option 'toolfix_magic'\. The options are toolfix_mode"):
        read_options({"toolfix_magic": "1"})


def test_the_environment_sets_options_and_the_old_switches_work() -> None:
    texts = from_environment(
        {"TOOLFIX_MODE": "observe", "RCC_TOOL_ENHANCE": "0", "RCC_SSE_TOOL_AGGREGATE": "1", "X": "y"}
    )
    assert texts == {"toolfix_mode": "observe", "toolfix_arguments": "false"}
    assert from_environment({"RCC_SSE_TOOL_AGGREGATE": "0", "TOOLFIX_AGGREGATE": "true"}) == {
        "toolfix_aggregate": "true"
    }


@pytest.mark.parametrize("word", ["0", "false", "no", "off", "False", " OFF "])
def test_the_old_switches_are_off_in_every_word(word: str) -> None:
    assert from_environment({"RCC_TOOL_ENHANCE": word, "RCC_SSE_TOOL_AGGREGATE": word}) == {
        "toolfix_arguments": "false",
        "toolfix_aggregate": "false",
    }


@pytest.mark.parametrize("word", ["1", "true", "yes", "on", "", "whatever"])
def test_any_other_word_leaves_the_old_switches_on(word: str) -> None:
    assert from_environment({"RCC_TOOL_ENHANCE": word, "RCC_SSE_TOOL_AGGREGATE": word}) == {}


def test_tool_patterns_limit_which_tools_are_touched() -> None:
    policy = make_policy(read_options({"toolfix_tools": "^Bash$, Todo"}))
    assert policy.touches("Bash") and policy.touches("TodoWrite")
    assert not policy.touches("Bashful")


def test_a_misspelt_option_is_an_error_that_names_the_one_that_was_meant() -> None:
    with pytest.raises(BadOption, match=r"no option 'toolfix_falback'\. Did you mean toolfix_fallback\?"):
        read_options({"toolfix_falback": "empty"})
    with pytest.raises(BadOption, match=r"The options are toolfix_mode, "):
        read_options({"x": "y"})


def test_a_misspelt_variable_is_an_error_and_one_of_another_program_is_not() -> None:
    check_variables({"TOOLFIX_MODE": "off", "TOOLFIX_URL": "http://x", "TOOLFIX_FAULTS_FULL": "1", "HOME": "/"})
    with pytest.raises(BadOption, match=r"TOOLFIX_FALBACK in the environment .* Did you mean TOOLFIX_FALLBACK\?"):
        check_variables({"TOOLFIX_FALBACK": "empty"})

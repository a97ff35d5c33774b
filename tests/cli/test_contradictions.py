"""What `toolfix` says of words that cannot both be meant, options that are gone, and arguments that are too large."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from toolcalls.cli import main
from toolcalls.policy import BadOption, read_options


def test_observe_and_another_mode_are_refused() -> None:
    result = CliRunner().invoke(main, ["run", "--observe", "--set", "toolfix_mode=repair", "--", "true"])
    assert result.exit_code == 2
    assert "--observe and --set toolfix_mode=repair contradict each other" in result.output


@pytest.mark.parametrize("name", ["toolfix_schemas", "toolfix_structured", "toolfix_think"])
def test_an_option_that_is_gone_is_named_as_gone(name: str) -> None:
    with pytest.raises(BadOption, match=f"{name} is gone"):
        read_options({name: "true"})


def test_arguments_that_are_too_large_are_refused_in_a_sentence_and_the_lines_behind_them_are_read() -> None:
    large = json.dumps({"a": "x," * 410_000})
    result = CliRunner().invoke(main, ["repair"], input=large)
    assert result.exit_code == 1 and "more values than are read" in result.output
    lines = "".join(json.dumps({"id": at, "input": text}) + "\n" for at, text in enumerate((large, "{'a': 1}")))
    result = CliRunner().invoke(main, ["repair", "--jsonl"], input=lines)
    found = [json.loads(line) for line in result.output.splitlines()]
    assert [one["status"] for one in found] == ["refused", "repaired"]

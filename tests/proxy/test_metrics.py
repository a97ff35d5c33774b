"""The numbers: what is counted, that labels are bounded, and that Prometheus can read them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mitmproxy.test import taddons
from prometheus_client.parser import text_string_to_metric_families

from toolcalls import reasons as reasons_module
from toolcalls.outcome import Outcome, Status
from toolcalls.proxy.metrics import BUCKETS, Metrics
from toolcalls.reasons import LONGEST_LABEL, reason_class, step_class
from toolcalls.recording import store
from toolcalls.recording.replay import replay
from toolfix import Toolfix

RECORDINGS = Path(__file__).parents[2] / "recordings"
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def read(text: str) -> Samples:
    """Every sample by its name and labels, as Prometheus' own parser reads it."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def rendered(metrics: Metrics, **held: int) -> Samples:
    return read(metrics.render(mode="repair", held_bytes=held, recordings={"written": 3, "lost": 1}))


def outcome(status: Status, *steps: str, reason: str = "") -> Outcome:
    return Outcome(status, "Bash", "{}", "Bash", "{'", steps, reason)


def test_the_counts_are_those_of_the_calls() -> None:
    metrics = Metrics()
    calls = [
        outcome("valid"),
        outcome("repaired", "single quotes", "trailing comma"),
        outcome(
            "repaired", "single quotes", "array from a string at `edits[0]`", "array from a string at `edits[1]`"
        ),
        outcome("refused", "sent with empty arguments", reason="the arguments were cut off after 7 characters"),
    ]
    metrics.called("chat", calls, [0.0002, 0.0002, 0.003, 0.7])
    metrics.answered("chat")
    metrics.answered("messages", failed_open=True, limited=True, long_held=True, broken=True)
    samples = rendered(metrics, chat=17)

    def of(name: str, **labels: str) -> float:
        return samples["toolfix_" + name, tuple(sorted(labels.items()))]

    assert of("answers_total", protocol="chat") == 1
    assert [of("calls_total", protocol="chat", status=s) for s in ("valid", "repaired", "refused")] == [1, 2, 1]
    assert of("steps_total", protocol="chat", step="single quotes") == 2
    assert of("steps_total", protocol="chat", step="array from a string") == 1, "calls, not places"
    assert of("refused_total", protocol="chat", reason="cut off") == 1
    for event in ("failed_open", "limited", "long_held", "broken"):
        assert (of(f"{event}_total", protocol="chat"), of(f"{event}_total", protocol="messages")) == (0, 1)
    assert of("held_bytes", protocol="chat") == 17
    assert of("mending_seconds_count", protocol="chat") == 4
    assert of("mending_seconds_sum", protocol="chat") == pytest.approx(0.7034)
    assert of("mending_seconds_bucket", protocol="chat", le="0.0001") == 0
    assert of("mending_seconds_bucket", protocol="chat", le="0.00025") == 2
    assert of("mending_seconds_bucket", protocol="chat", le=BUCKETS[-2]) == 3
    assert of("mending_seconds_bucket", protocol="chat", le="+Inf") == 4
    assert of("recordings_total", result="lost") == 1


def test_an_idle_proxy_has_numbers_too() -> None:
    assert ("toolfix_info", (("mode", "repair"), ("version", "0.1.0"))) in rendered(Metrics())


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ("single quotes", "single quotes"),
        ("name: case or separators", "name: case or separators"),
        ("array from a string at `edits[3].old`", "array from a string"),
        ("optional empty string dropped at `a at `b`", "optional empty string dropped"),
        ("`cmd` renamed to `command`", "property renamed"),
        ("`cmd` renamed to `command` at `steps[0]`", "property renamed"),
        ("enum member `in_progress` by case or separators at `todos[0].status`", "enum member by case or separators"),
        ("arguments taken out of `input`", "arguments taken out of a wrapper"),
        ('"} evil{x="1', "other"),
    ],
)
def test_a_step_is_counted_under_its_class(step: str, expected: str) -> None:
    assert step_class(step) == expected


@given(st.text(max_size=200), st.text(max_size=200))
def test_labels_are_bounded_whatever_a_model_writes(step: str, reason: str) -> None:
    metrics = Metrics()
    metrics.called("chat", [outcome("refused", step, reason=reason)])
    for _, labels in rendered(metrics):
        assert all(len(value) <= LONGEST_LABEL for _, value in labels)


def test_the_steps_and_reasons_of_all_recordings_have_classes() -> None:
    for directory in store.find(RECORDINGS):
        for call in replay(store.load(directory)).calls:
            for step in call.get("steps", ()):
                assert step_class(step) != "other", step
                assert "`" not in step_class(step), step


def test_every_refusal_in_the_code_has_a_class_with_a_reader_in_mind() -> None:
    source = "\n".join(
        path.read_text() for path in (RECORDINGS.parent / "addon" / "toolcalls" / "mend").rglob("*.py")
    )
    reasons = re.findall(r'Refusal\(f?"([^"]+)"', source)
    assert len(reasons) > 30
    classes = {reason_class(reason) for reason in reasons}
    assert {"two readings", "several objects", "no object", "too large", "unreadable"} <= classes
    told = [value for name, value in vars(reasons_module).items() if name.isupper() and isinstance(value, str)]
    told = [value for value in told if value.startswith(("the ", "its ", "one ", "a call ", "it is "))]
    assert len(told) > 8 and "unreadable" not in map(reason_class, told)
    assert reason_class("the arguments were cut off inside `command` after 12 characters") == "cut off"
    assert reason_class("Invalid arguments: missing required field(s): file_path") == "missing required fields"
    assert reason_class("Unknown tool requested by the model: cut off") == "unknown tool"


def test_the_docs_name_every_metric_and_no_other() -> None:
    metrics = Metrics()
    metrics.called("chat", [outcome("refused", "x", reason="cut off")], [0.1])
    metrics.answered("chat")
    text = metrics.render(mode="repair", held_bytes={}, recordings={"written": 1})
    families = {family.name for family in text_string_to_metric_families(text)}
    docs = (RECORDINGS.parent / "docs" / "recordings.md").read_text()
    named = re.findall(r"^\| `(toolfix_\w+)` \|", docs, re.MULTILINE)
    assert {name.removesuffix("_total") for name in named} == families


def test_the_token_of_metrics_is_not_among_the_options_that_a_recording_notes() -> None:
    token = "token-of-the-tests-0123456789"
    addon = Toolfix()
    with taddons.context(addon) as context:
        context.configure(addon, toolfix_metrics=token, toolfix_mode="observe")
        assert addon.settings.metrics_readers == token
        assert addon.settings.texts["toolfix_mode"] == "observe"
        assert token not in addon.settings.texts.values()

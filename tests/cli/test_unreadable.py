"""Files that cannot be read are one sentence, an exit status and no traceback."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from toolcalls.cli import main
from toolcalls.recording import store


def asked(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


@pytest.mark.parametrize("command", [["report", "PLACE", "-o", "page.html"], ["replay", "PLACE"]])
def test_a_directory_that_may_not_be_read(
    command: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def denied(path: Path) -> list[Path]:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(store, "find", denied)
    result = asked(*(word.replace("PLACE", str(tmp_path)) for word in command))
    assert result.exit_code == 1
    assert f"{tmp_path} cannot be used (Permission denied)." in result.output
    assert isinstance(result.exception, SystemExit)


def test_a_place_that_is_not_there_is_an_error_of_usage() -> None:
    for words in (["report", "/no/such", "-o", "page.html"], ["replay", "/no/such"]):
        result = asked(*words)
        assert (result.exit_code, "'/no/such' does not exist." in result.output) == (2, True)


def test_a_report_of_nothing_readable_is_an_error_and_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "flow.json").write_text("{")
    page = tmp_path / "page.html"
    result = asked("report", str(tmp_path), "-o", str(page))
    assert result.exit_code == 1
    assert f"nothing at '{tmp_path}' can be read, so {page} was not written." in result.output
    assert not page.exists()


def test_a_place_without_recordings_is_an_error(tmp_path: Path) -> None:
    for words in (["report", str(tmp_path), "-o", "page.html"], ["replay", str(tmp_path)]):
        result = asked(*words)
        assert result.exit_code == 2
        assert "there is no recording at" in result.output


def test_run_and_proxy_where_the_ca_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    place = f"confdir={tmp_path}/file/conf"
    for words, status in ((["run", "--set", place, "--", "true"], 125), (["proxy", "--set", place], 1)):
        result = asked(*words)
        assert result.exit_code == status, result.output
        assert f"toolfix: {tmp_path}/file/conf cannot be used (Not a directory)." in result.output
        assert isinstance(result.exception, SystemExit)


def test_a_variable_that_is_an_option_misspelt_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLFIX_FALBACK", "empty")
    for words in (["filter"], ["run", "--", "true"], ["proxy"]):
        result = asked(*words)
        assert result.exit_code == 2
        assert "Did you mean TOOLFIX_FALLBACK?" in result.output


def test_an_option_that_is_misspelt_is_an_error() -> None:
    for words in (
        ["run", "--set", "toolfix_fallbck=empty", "--", "true"],
        ["filter", "--set", "toolfix_fallbck=empty"],
    ):
        result = asked(*words)
        assert result.exit_code == 2
        assert "there is no option 'toolfix_fallbck'. Did you mean toolfix_fallback?" in result.output


def test_where_no_temporary_file_can_be_made_it_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = f"confdir={tmp_path / 'ca'}"
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    for words, status in (
        (["run", "--set", place, "--", "true"], 125),
        (["proxy", "--set", place], 1),
        (["demo"], 1),
    ):
        result = asked(*words)
        assert result.exit_code == status, result.output
        assert f"{tmp_path}/nowhere/toolfix-" in result.output
        assert "cannot be used (No such file or directory)." in result.output

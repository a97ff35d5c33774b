"""What SECURITY.md promises: for each promise a protection that is taken away, and the test that then has to fail.

    .venv/bin/python -m tests.faults.mutations promise

Those about networks, sizes and disks are in `mutations.py`, with the faults that they are about.
"""

from __future__ import annotations

from .mutation import ENGINE, Mutation

PROMISES = (
    Mutation(
        "promise: TLS is opened for known hosts only", "../proxy/test_hosts.py host", "a host that is not named is tunnelled",
        ((ENGINE + "proxy/hosts.py", "return any(re.search(expression", "return True or any(re.search(expression"),),
    ),
    Mutation(
        "promise: the commands listen on loopback", "../test_safety.py listens_on_loopback", "the address that the proxy listens at",
        ((ENGINE + "cli/proxy_process.py", '"127.0.0.1"', '"0.0.0.0"'),),
    ),
    Mutation(
        "promise: nothing leaves the machine", "../test_safety.py open_a_connection", "the engine opens no connection",
        ((ENGINE + "ids.py", "from __future__ import annotations", "from __future__ import annotations\nimport socket"),),
    ),
    Mutation(
        "promise: recordings are private", "../recording/test_record.py only_the_user_can_read", "the mode of the files",
        ((ENGINE + "recording/store.py", "0o600", "0o644"),),
    ),
    Mutation(
        "promise: reports are private", "../recording/test_report.py readable_by_its_user_alone", "the mode of the file",
        ((ENGINE + "recording/store.py", "0o600", "0o644"),),
    ),
    Mutation(
        "promise: credentials are masked in recordings", "../recording/test_record.py no_secret_reaches", "the mask",
        ((ENGINE + "recording/redact.py", "def redact_bytes(data: bytes, between: Callable[[], None] = lambda: None) -> bytes:",
          "def redact_bytes(data: bytes, between: Callable[[], None] = lambda: None) -> bytes:\n    return data\n"),),
    ),
    Mutation(
        "promise: samples of -v are masked", "../proxy/test_log_lines.py samples_of_arguments", "the mask",
        ((ENGINE + "recording/redact.py", "def redact_bytes(data: bytes, between: Callable[[], None] = lambda: None) -> bytes:",
          "def redact_bytes(data: bytes, between: Callable[[], None] = lambda: None) -> bytes:\n    return data\n"),),
    ),
    Mutation(
        "promise: a log line stays one line", "../proxy/test_log_lines.py stays_one_line", "what is not visible is escaped",
        ((ENGINE + "shown.py", "if _SUSPECT.search(cut):", "if False:"),),
    ),
    Mutation(
        "promise: the log is not filled", "../proxy/test_log_lines.py is_cut", "what is long is cut",
        ((ENGINE + "shown.py", "cut = text[:most]\n", "cut = text\n"),),
    ),
    Mutation(
        "promise: nothing is evaluated", "../test_safety.py no_text_is_ever_run", "nothing calls `eval`",
        ((ENGINE + "ids.py", "from __future__ import annotations", "from __future__ import annotations\neval('1')"),),
    ),
    Mutation(
        "promise: what was cut off never runs", "../must_not_run/test_cut_values.py cut", "a reason that means cut",
        ((ENGINE + "mend/finish.py", "return cls.CUT if word in _CUT else cls.UNKNOWN", "return cls.COMPLETE"),),
    ),
    Mutation(
        "promise: a call goes to the tool that it names", "../must_not_run/test_names.py prefix or sandbox or namespace", "the table of prefixes",
        ((ENGINE + "tools/spelling.py", "(?:{'|'.join(PREFIXES)})", "(?:\\w+)"),),
    ),
    Mutation(
        "promise: an id names one call", "../must_not_run/test_resent_calls.py resent or again or twice", "calls are compared with those that went out",
        ((ENGINE + "turn/resent.py", "def knows(self, key: str) -> bool:", "def knows(self, key: str) -> bool:\n        return False\n"),),
    ),
    Mutation(
        "promise: /metrics is shown to nobody", "../e2e/test_e2e_metrics.py by_default_nobody", "the option is asked",
        ((ENGINE + "proxy/metrics_page.py", 'if readers == "off":\n        return False', 'if readers == "off":\n        return True'),),
    ),
    Mutation(
        "promise: /metrics with a token is shown to those who have it", "../e2e/test_e2e_metrics.py by_default_nobody", "the token is compared",
        ((ENGINE + "proxy/metrics_page.py", "return compare_digest(", "return True or compare_digest("),),
    ),
    Mutation(
        "promise: no more work than the bytes allow", "../test_stalls.py would_take_long", "the budget of steps",
        ((ENGINE + "work.py", "        if self._left < 0:\n            raise TooMuchWork", "        return"),),
    ),
    Mutation(
        "promise: an answer passes where we fail", "../test_fail_open.py whatever_line and beside", "what is raised is caught",
        ((ENGINE + "stream.py", "except Exception as error:", "except ZeroDivisionError as error:"),),
    ),
    Mutation(
        "promise: where we fail nothing is lost", "../test_fail_open.py cannot_be_cut", "what is held goes out",
        ((ENGINE + "stream.py", "        self._kind = BodyKind.OPEN\n        return self._ledger.drain()", "        self._kind = BodyKind.OPEN\n        return []"),),
    ),
    Mutation(
        "promise: the entries of the ledger can only store", "../test_fail_open.py do_nothing_but_store", "an entry computes nothing",
        ((ENGINE + "wire/ledger.py", "self.rest, self.coming = longer,", "self.rest, self.coming = bytes(longer),"),),
    ),
    Mutation(
        "promise: nothing is written to disk unasked", "../test_safety.py everything_that_is_written", "every place that writes is known",
        ((ENGINE + "engine.py", "from __future__ import annotations", "from __future__ import annotations\nfrom pathlib import Path\n\n\ndef remember(text: str) -> None:\n    Path('said').write_text(text)\n"),),
    ),
    Mutation(
        "promise: recordings lie in their directory", "../recording/test_names.py outside_of", "names are made plain",
        ((ENGINE + "recording/record.py", 're.sub(r"[^A-Za-z0-9.-]", "_", exchange.host)[:60]', "exchange.host"),),
    ),
    Mutation(
        "promise: recordings hold no headers", "../recording/test_record.py of_the_headers", "headers are left out",
        ((ENGINE + "recording/record.py", '"host": exchange.host,', '"host": exchange.host, "headers": {"server": "x"},'),),
    ),
    Mutation(
        "promise: the report shows what is said as text", "../recording/test_report.py stays_data", "marks of HTML are escaped",
        ((ENGINE + "recording/report.py", '.replace("<", "\\\\u003c")', ""),),
    ),
    Mutation(
        "promise: text around arguments", "../must_not_run/test_prose_around_arguments.py text_in_front", "only labels are dropped in front",
        ((ENGINE + "mend/reading/around.py", "    return _pieces(text, behind=False)[0]", "    return LABEL"),),
    ),
    Mutation(
        "promise: text around arguments", "../must_not_run/test_prose_around_arguments.py text_behind", "only templates are dropped behind",
        ((ENGINE + "mend/reading/around.py", "    found, at = _pieces(text, behind=True)\n", "    return LABEL\n    found, at = _pieces(text, behind=True)\n"),),
    ),
    Mutation(
        "promise: comments that may be values", "../must_not_run/test_comments_in_arguments.py values_in_it", "a comment is looked at",
        ((ENGINE + "mend/reading/source.py", '        self.step("comments")\n', '        self.step("comments")\n        return\n'),),
    ),
    Mutation(
        "promise: a quoted call stays text", "../must_not_run/test_quotations.py is_text_and", "what is open is known",
        ((ENGINE + "textcalls/quoting.py", "        self._look(self._length)\n        if self._fence or", "        return False\n        if self._fence or"),),
    ),
    Mutation(
        "promise: a call that is read aloud stays text", "../must_not_run/test_read_aloud.py stands_in_the_request", "what the model read is searched",
        ((ENGINE + "request/heard.py", "if wanted in _plain(part):", "if False:"),),
    ),
    Mutation(
        "promise: two calls are not merged", "../must_not_run/test_merged_calls.py fragments_that_cannot", "calls of one place are judged",
        ((ENGINE + "turn/shared_place.py", "        if not self.unsure:\n            return\n", "        return\n"),),
    ),
    Mutation(
        "promise: the thoughts of another session", "../request/test_reasoning.py nobody_gets", "the account is a part of the key",
        ((ENGINE + "request/reasoning.py", "self._memory.start(self._protocol, self._host, self._account, self._model)",
          'self._memory.start(self._protocol, self._host, "", self._model)'),),
    ),
    Mutation(
        "promise: the thoughts of another session", "../request/test_reasoning.py nobody_gets", "what was said is a part of the key",
        ((ENGINE + "request/reasoning.py", 'asked.add(text_of(message.get("content")))', "pass"),),
    ),
    Mutation(
        "promise: thoughts are bounded", "../request/test_reasoning.py bounded_in_turns", "the oldest is forgotten",
        ((ENGINE + "request/reasoning.py", "while len(self._turns) > self._most_turns or self.bytes > self._most_bytes:", "while False:"),),
    ),
    Mutation(
        "promise: nothing inflates", "../wire/test_inflation.py in_small_chunks", "the limit of what a body becomes",
        ((ENGINE + "wire/encoding.py", "if self._made > most and", "if False and"),),
    ),
    Mutation(
        "promise: messages of a WebSocket are let go", "test_memory.py websocket", "the oldest messages are let go",
        ((ENGINE + "proxy/kept_messages.py", "if size > most:", "if False:"),),
    ),
    Mutation(
        "promise: refusals have a limit in bytes", "../request/test_refusals.py too_long", "the limit in bytes",
        ((ENGINE + "request/refusals.py", " or self._size > MAX_BYTES", ""),),
    ),
    Mutation(
        "promise: large bodies stream", "test_memory.py body_that_is_gathered", "`stream_large_bodies` is set",
        ((ENGINE + "proxy/settings.py", "MAX_GATHERED)", '"4g")'),),
    ),
    Mutation(
        "promise: expressions take linear time", "../test_regular_expressions.py driven_to_more", "no repetition inside a repetition",
        ((ENGINE + "request/heard.py", '_WORD = re.compile(r"[A-Za-z0-9_]{4,}")', '_WORD = re.compile(r"(?:[A-Za-z0-9_]+)+!")'),),
    ),
)  # fmt: skip

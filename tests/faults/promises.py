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
        ((ENGINE + "proxy/metrics_page.py", 'if readers == "off":', "if False:"),),
    ),
    Mutation(
        "promise: no more work than the bytes allow", "../test_stalls.py would_take_long", "the budget of steps",
        ((ENGINE + "work.py", "        if self._left < 0:\n            raise TooMuchWork", "        return"),),
    ),
    Mutation(
        "promise: an answer passes where we fail", "../test_fail_open.py open", "what is raised is caught",
        ((ENGINE + "stream.py", "except Exception as error:", "except ZeroDivisionError as error:"),),
    ),
)  # fmt: skip

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
        ((ENGINE + "mend/names.py", "(?:{'|'.join(PREFIXES)})", "(?:\\w+)"),),
    ),
    Mutation(
        "promise: an id names one call", "../must_not_run/test_resent_calls.py resent or again or twice", "calls are compared with those that went out",
        ((ENGINE + "sent.py", "elif any(self._repeats(one, call) for one in earlier):", "elif False:"),),
    ),
    Mutation(
        "promise: /metrics is shown to nobody", "../e2e/test_e2e_metrics.py by_default_nobody", "the option is asked",
        ((ENGINE + "proxy/metrics.py", 'if readers == "off":\n        may_read = False', 'if readers == "off":\n        may_read = True'),),
    ),
    Mutation(
        "promise: /metrics with a token is shown to those who have it", "../e2e/test_e2e_metrics.py by_default_nobody", "the token is compared",
        ((ENGINE + "proxy/metrics.py", "may_read = compare_digest(", "may_read = True or compare_digest("),),
    ),
    Mutation(
        "promise: no more is read than the sizes allow", "../test_stalls.py would_take_long", "the most values of an event",
        ((ENGINE + "sizes.py", "MOST_MARKS: Final = 400_000", "MOST_MARKS: Final = 10**9"),),
    ),
    Mutation(
        "promise: an answer passes where we fail", "../test_fail_open.py whatever_line and beside", "what is raised is caught",
        ((ENGINE + "engine.py", "except Exception as error:", "except ZeroDivisionError as error:"),),
    ),
    Mutation(
        "promise: where we fail nothing is lost", "../test_fail_open.py cannot_be_cut", "what is held goes out",
        ((ENGINE + "engine.py", "return [piece for piece in (*held, *events, rest) if piece]", "return [piece for piece in (*held, *events) if piece]"),),
    ),
    Mutation(
        "promise: nothing is written to disk unasked", "../test_safety.py everything_that_is_written", "every place that writes is known",
        ((ENGINE + "engine.py", "from __future__ import annotations", "from __future__ import annotations\nfrom pathlib import Path\n\n\ndef remember(text: str) -> None:\n    Path('said').write_text(text)\n"),),
    ),
    Mutation(
        "promise: recordings lie in their directory", "../recording/test_names.py outside_of", "names are made plain",
        ((ENGINE + "recording/record.py", 're.sub(r"[^A-Za-z0-9.-]", "_", exchange.flow["host"])[:60]', 'exchange.flow["host"]'),),
    ),
    Mutation(
        "promise: recordings hold no headers", "../recording/test_record.py of_the_headers", "headers are left out",
        ((ENGINE + "recording/record.py", "**exchange.flow,", '**exchange.flow, "headers": {"server": "x"},'),),
    ),
    Mutation(
        "promise: the report shows what is said as text", "../recording/test_report.py stays_data", "marks of HTML are escaped",
        ((ENGINE + "recording/report.py", '.replace("<", "\\\\u003c")', ""),),
    ),
    Mutation(
        "promise: text around arguments", "../must_not_run/test_prose_around_arguments.py text_in_front", "only labels are dropped in front",
        ((ENGINE + "mend/document.py", "_note_surroundings(s, bare, _pieces(bare, behind=False)[0])", "_note_surroundings(s, bare, LABEL)"),),
    ),
    Mutation(
        "promise: text around arguments", "../must_not_run/test_prose_around_arguments.py text_behind", "only templates are dropped behind",
        ((ENGINE + "mend/document.py", "    found, at = _pieces(text, behind=True)\n", "    return LABEL\n    found, at = _pieces(text, behind=True)\n"),),
    ),
    Mutation(
        "promise: comments that may be values", "../must_not_run/test_comments_in_arguments.py values_in_it", "a comment is looked at",
        ((ENGINE + "mend/source.py", '        self.step("comments")\n', '        self.step("comments")\n        return\n'),),
    ),
    Mutation(
        "promise: a call that is read aloud stays text", "../must_not_run/test_read_aloud.py stands_in_the_request", "what the model read is searched",
        ((ENGINE + "textcalls/read_aloud.py", "            if wanted in arguments_read:\n", "            if False:\n"),),
    ),
    Mutation(
        "promise: two calls are not merged", "../must_not_run/test_merged_calls.py fragments_that_cannot", "calls of one place are judged",
        ((ENGINE + "calls.py", "if not clear or lost or _differ(calls) or (doubted and not _all_strict(calls, tools, finish)):", "if False:"),),
    ),
    Mutation(
        "promise: the thoughts of another session", "../request/test_reasoning.py nobody_gets", "the account is a part of the key",
        ((ENGINE + "request/reasoning.py", "add(self._anywhere, session.protocol, session.host, session.account, session.model)",
          'add(self._anywhere, session.protocol, session.host, "", session.model)'),),
    ),
    Mutation(
        "promise: the thoughts of another session", "../request/test_reasoning.py nobody_gets", "what was said is a part of the key",
        ((ENGINE + "request/reasoning.py", "add(asked, said.words)", "pass"),),
    ),
    Mutation(
        "promise: thoughts are bounded", "../request/test_reasoning.py bounded_in_turns", "the oldest is forgotten",
        ((ENGINE + "request/refusals.py", "while len(self._entries) > self._most or self.size > self._most_size:", "while False:"),),
    ),
    Mutation(
        "promise: nothing inflates", "../wire/test_inflation.py in_small_chunks", "the limit of what a body becomes",
        ((ENGINE + "wire/encoding.py", "if self._made > most and", "if False and"),),
    ),
    Mutation(
        "promise: messages of a WebSocket are let go", "test_memory.py websocket", "earlier messages are let go",
        ((ENGINE + "proxy/websocket_flows.py", "if not self._settings.bodies_are_wanted:", "if False:"),),
    ),
    Mutation(
        "promise: refusals have a limit in bytes", "../request/test_refusals.py too_long", "the limit in bytes",
        ((ENGINE + "request/refusals.py", " or self.size > self._most_size", ""),),
    ),
    Mutation(
        "promise: large bodies stream", "test_memory.py body_that_is_gathered", "`stream_large_bodies` is set",
        ((ENGINE + "proxy/settings.py", "MAX_GATHERED)", '"4g")'),),
    ),
    Mutation(
        "promise: expressions take linear time", "../test_regular_expressions.py driven_to_more", "no repetition inside a repetition",
        ((ENGINE + "textcalls/read_aloud.py", '[A-Za-z0-9]{4,}+"', '(?:[A-Za-z0-9_]+)+!"'),),
    ),
    Mutation(
        "promise: TLS of other hosts while a script is reloaded", "../e2e/test_e2e_traps.py after_a_broken_reload", "what was allowed stays when a script is gone",
        (("addon/toolfix.py", "        self.settings.close()\n", "        self.settings.close()\n        ctx.options.update(allow_hosts=[])\n"),
         (ENGINE + "proxy/settings.py", 'if "allow_hosts" in names and', "if False and")),
    ),
    Mutation(
        "promise: TLS of other hosts while options are wrong", "../e2e/test_e2e_traps.py bad_value_ends_mitmdump and toolfix_mode", "a bad option ends mitmdump",
        (("addon/toolfix.py", 'logger.error("%s%s", policy.LOGGED, bad)', 'logger.info("%s%s", policy.LOGGED, bad)'),),
    ),
    Mutation(
        "promise: nothing is given to a shell", "../test_safety.py start_processes", "the engine starts no process",
        ((ENGINE + "ids.py", "from __future__ import annotations", "from __future__ import annotations\nimport subprocess"),),
    ),
    Mutation(
        "promise: every log line is escaped", "../proxy/test_log_lines.py logger_that_is_guarded", "the guarded logger is used",
        ((ENGINE + "protocols/zai.py", 'logging.getLogger("toolfix.engine")', "logging.getLogger(__name__)"),),
    ),
    Mutation(
        "promise: the summary shows nothing invisible", "../proxy/test_log_lines.py the_summary", "what is not visible is escaped",
        ((ENGINE + "proxy/session_summary.py", "        sentence = shown(sentence, LINE)\n", ""),),
    ),
    Mutation(
        "promise: the content view shows nothing invisible", "../proxy/test_log_lines.py the_view", "what is not visible is escaped",
        ((ENGINE + "proxy/content_view.py", "(shown(call.get(key", "{outcome.name or '(no name)'}"),),
    ),
    Mutation(
        "promise: doctor shows nothing invisible", "../proxy/test_log_lines.py the_view", "what is not visible is escaped",
        ((ENGINE + "cli/doctor.py", "shown_lines(finding.what, LINE)", "finding.what"),),
    ),
    Mutation(
        "promise: replay shows nothing invisible", "../proxy/test_log_lines.py somebody_else_made", "what is not visible is escaped",
        ((ENGINE + "cli/replay.py", "visible = shown_lines(line, len(line))", "visible = line"),),
    ),
    Mutation(
        "promise: quotes of two kinds", "../must_not_run/test_quotes_of_another_kind.py two_readings", "a text with two ends is refused",
        ((ENGINE + "mend/strings.py", "if has_two_ends(raw, quote, position, typographic=", "if False and has_two_ends(raw, quote, position, typographic="),),
    ),
    Mutation(
        "promise: backslashes that are not doubled", "../must_not_run/test_escapes.py undoubled", "an escape beside undoubled backslashes is refused",
        ((ENGINE + "mend/document.py", "if s.undoubled and s.control_word:", "if False:"),),
    ),
    Mutation(
        "promise: a call counts at the very end only", "../must_not_run/test_text_behind_a_call.py shows_that_the_call_was_quoted", "what follows a call shows that it was quoted",
        ((ENGINE + 'textcalls/held.py', '        if self._other_speaker or OPENER.match(text, at) is None:\n            goes_on', '        if self._other_speaker or OPENER.match(text, at) is None:\n            return False\n            goes_on'),),
    ),
    Mutation(
        "promise: a call in an answer that was cut off stays text", "../protocols/test_messages_text.py before_a_cut", "an answer that was cut off has no calls in its text",
        ((ENGINE + 'textcalls/search.py', 'if finished is not False and', 'if'),),
    ),
    Mutation(
        "promise: a call that is rehearsed stays text", "../must_not_run/test_rehearsals.py stays_a_thought and hermes", "what is inside a thought is known",
        ((ENGINE + 'textcalls/structure.py', '        return (not now._think or now._think_first) and now._is_placed(special)', '        return now._is_placed(special)'),),
    ),
    Mutation(
        "promise: a call in reasoning that something follows stays a thought", "../must_not_run/test_calls_in_reasoning.py something_follows", "what is said ends the search of the reasoning",
        ((ENGINE + "answer_text.py", "self._thoughts_count = self._thoughts_count and part.quiet", "pass"),
         (ENGINE + "answer_text.py", "self._thoughts_count = self._thoughts_count and not (line or text.strip())", "pass")),
    ),
    Mutation(
        "promise: a call in reasoning counts where the answer says that it is done", "../must_not_run/test_calls_in_reasoning.py cut_off_or_ends", "the reason of the end is asked",
        ((ENGINE + "answer_text.py", "self._thoughts is not None and finish is Finish.COMPLETE:", "self._thoughts is not None:"),),
    ),
    Mutation(
        "promise: the thoughts of another host", "../request/test_reasoning.py nobody_gets", "the host is a part of the key",
        ((ENGINE + "request/reasoning.py", "return ReasoningSession(self, protocol, host, account", 'return ReasoningSession(self, protocol, "", account'),),
    ),
    Mutation(
        "promise: the thoughts of another model", "../request/test_reasoning.py nobody_gets", "the model is a part of the key",
        ((ENGINE + "request/reasoning.py", "account, model[:MAX_NAME], request or {})", 'account, "", request or {})'),),
    ),
    Mutation(
        "promise: recorded bytes have a limit", "../recording/test_record.py larger_than_the_limit", "the limit of what is kept",
        ((ENGINE + "recording/record.py", "if self.size > self.limit:", "if False:"),),
    ),
    Mutation(
        "promise: what is not mended is streamed", "test_memory.py streamed_request_that_is_not_mended", "such an answer passes in chunks",
        ((ENGINE + "proxy/http_flows.py", "if streams and not response.stream:", "if False:"),),
    ),
    Mutation(
        "promise: a body that inflates passes unchanged", "../wire/test_inflation.py never_in_memory", "the limit of a whole body",
        ((ENGINE + "wire/encoding.py", "MAX_WHOLE = 64 * MIB", "MAX_WHOLE = 10**6 * MIB"),),
    ),
    Mutation(
        "promise: a declared expression stalls nobody", "../test_regular_expressions.py stalls_nobody", "with how many choices it is run",
        ((ENGINE + "tools/schema.py", "_MOST_CHOICES = 8", "_MOST_CHOICES = 10**6"),),
    ),
    Mutation(
        "promise: the token of /metrics is in no recording", "../proxy/test_metrics.py token_of_metrics", "secret options are not noted",
        ((ENGINE + "proxy/settings.py", " if not policy.BY_NAME[name].secret}", "}"),),
    ),
    Mutation(
        "promise: /metrics is shown to clients of this machine", "../e2e/test_e2e_metrics.py only_this_machine", "the address of the client is asked",
        ((ENGINE + "proxy/metrics.py", "may_read = bool(client) and hosts.is_loopback(client[0])", "may_read = True"),),
    ),
    Mutation(
        "promise: an answer of many calls does not fill the log", "../proxy/test_log_lines.py hundreds_of_calls", "the limit of lines",
        ((ENGINE + "proxy/reporting.py", "in touched[:_MOST_LINES]:", "in touched:"),),
    ),
    Mutation(
        "promise: no more work when an answer is over", "../request/test_reasoning.py take_long_to_read", "the sizes that are read",
        ((ENGINE + "request/answered.py", "> _MOST_LINES or marks_in(body) > MOST_MARKS:", "< 0:"),),
    ),
    Mutation(
        "promise: a call that the host's own tools brought stays text", "../must_not_run/test_read_aloud_from_the_answer.py brought_is_not_run", "what they bring is remembered",
        ((ENGINE + "request/read_by_model.py", "            self._results[text] = None\n", ""),),
    ),
    Mutation(
        "promise: a bracket behind inner quotes completes nothing", "../must_not_run/test_cut_values.py behind_inner_quotes", "the last value of an answer that may be cut is looked at",
        ((ENGINE + "mend/strings.py", "if not s.may_add_missing and _NO_MORE_VALUES", "if False and _NO_MORE_VALUES"),),
    ),
    Mutation(
        "promise: what follows a call does not complete it", "../must_not_run/test_cut_values.py what_follows_a_call", "what follows does not say that a call has its end",
        ((ENGINE + "answer.py", "self._decide(Finish.UNKNOWN)", "self._decide(Finish.COMPLETE)"),),
    ),
    Mutation(
        "promise: calls at one index run all or none", "../must_not_run/test_calls_at_one_index.py what_chat_makes", "each of them has to be strict JSON",
        ((ENGINE + "calls.py", "if not clear or lost or _differ(calls) or (doubted and not _all_strict(calls, tools, finish)):", "if not clear or lost or _differ(calls):"),),
    ),
    Mutation(
        "promise: a piece that may be another call's", "../must_not_run/test_lost_pieces.py missing_in_the_open or place_of_a_whole", "what goes to a complete call may be missing in an open one",
        ((ENGINE + "calls.py", "if not clear or lost or _differ(calls) or (doubted and not _all_strict(calls, tools, finish)):", "if False:"),),
    ),
    Mutation(
        "promise: a name that comes twice may be that of two calls", "../must_not_run/test_names_that_come_twice.py is_refused", "such a call counts as strict JSON only",
        ((ENGINE + "calls.py", "return len(call.names) < 2 or not call.begun", "return True"),),
    ),
    Mutation(
        "promise: a history takes no more than its share", "../test_stalls.py far_too_long_goes_up", "the steps of a history are counted",
        ((ENGINE + "request/mend.py", "    if _entries(form, request) > _MOST_ENTRIES:\n", "    if False:\n"),),
    ),
    Mutation(
        "promise: a copy that lost its id is no second call", "../must_not_run/test_lost_pieces.py has_lost_its_id", "calls without an id are compared with those that have one",
        ((ENGINE + "sent.py", "certain and (lost_its_id or first.answer_id != again.answer_id)", "certain and (first.answer_id != again.answer_id)"),),
    ),
    Mutation(
        "promise: a call whose ids change runs once", "../must_not_run/test_ids_that_change.py whose_ids_change_runs_once", "an end under another id is put to its beginning",
        ((ENGINE + "calls.py", "        if not owners:\n", "        if False:\n"),),
    ),
    Mutation(
        "promise: an answer that begins again runs its calls once", "../must_not_run/test_answers_that_begin_again.py in_the_middle", "calls of another answer are compared by their meaning",
        ((ENGINE + "sent.py", "(lost_its_id or first.answer_id != again.answer_id)", "lost_its_id"),),
    ),
    Mutation(
        "promise: a call behind the end of an answer does not run", "../must_not_run/test_answers_that_begin_again.py behind_the_terminal_event", "calls behind the terminal event are dropped",
        ((ENGINE + "protocols/responses/protocol.py", "return [] if _ABOUT_A_CALL.search(event.data) else [event.raw]", "return [event.raw]"),),
    ),
    Mutation(
        "promise: a bracket is added only if the tool can take the result", "../must_not_run/test_repairs_against_the_schema.py cannot_take_is_refused", "the schema is asked",
        ((ENGINE + "mend/mender.py", "    if _GUESSED.isdisjoint(mended.steps):", "    if True:"),),
    ),
    Mutation(
        "promise: two different arguments for one call", "../protocols/test_responses.py two_different_objects", "all reports of a call are compared",
        ((ENGINE + "call.py", "    if payload.contradict(values.values()):", "    if False:"),),
    ),
    Mutation(
        "promise: a malformed call that is quoted", "../protocols/test_gemini.py the_text_before_it_quotes", "the text before it is asked",
        ((ENGINE + "protocols/gemini.py", "self._ended[choice] = quoted is not None and not answer.text.would_quote_after(text)", "self._ended[choice] = quoted is not None"),),
    ),
    Mutation(
        "promise: a call behind a malformed one", "../protocols/test_gemini.py behind_the_one_that_a_malformed", "it may be the same one",
        ((ENGINE + "protocols/gemini.py", "refusal = BEHIND_THE_END if self._ended.get(choice) else \"\"", "refusal = \"\""),),
    ),
    Mutation(
        "promise: arguments in an error that stand in the request", "../test_parse_failure.py that_stand_in_the_request_are_no_call", "what the model read is searched",
        ((ENGINE + "parse_failure.py", "if name and not _was_read(name, arguments, self.request):", "if name:"),),
    ),
)  # fmt: skip

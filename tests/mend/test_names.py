"""Names: the ladder, rung by rung, and what must not climb it."""

from __future__ import annotations

import pytest

from toolcalls.mend.names import NameMended, mend_name
from toolcalls.tools.declared import Tool, Tools


def declared(*names: str) -> Tools:
    return Tools(Tool(name, {"type": "object"}) for name in names)


CODING = declared("read", "read_file", "Bash", "todowrite", "get_v1_0", "server_get-by-id", "apply", "function")


def mended(name: str, tools: Tools = CODING) -> NameMended:
    result = mend_name(name, tools)
    assert result.status == "mended", result
    assert result.steps
    assert result.tool is not None
    return result


def unknown(name: str, tools: Tools = CODING) -> None:
    result = mend_name(name, tools)
    assert result.status == "unknown", result
    assert result.name == name
    assert result.steps == ()
    assert result.arguments is None


def test_an_exact_name_stays_and_says_so() -> None:
    result = mend_name("read", CODING)
    assert (result.name, result.status, result.steps) == ("read", "exact", ())
    assert result.tool is CODING.get("read")


def test_an_exact_name_wins_over_everything_that_it_could_be_cut_to() -> None:
    tools = declared("read", "readread", "functions.read", "read<x>", "⚙", "readarguments", "Read")
    for name in ("read", "readread", "functions.read", "read<x>", "⚙", "readarguments", "Read"):
        assert mend_name(name, tools).status == "exact"


@pytest.mark.parametrize(
    ("name", "tool"),
    [
        ("Read", "read"),
        ("READ_FILE", "read_file"),
        ("readFile", "read_file"),
        ("read-file", "read_file"),
        ("bash", "Bash"),
        ("todo_write", "todowrite"),
        ("TodoWrite", "todowrite"),
        ("server_get_by_id", "server_get-by-id"),
        (" read\n", "read"),
        ("get-v1-0", "get_v1_0"),
    ],
)
def test_case_and_separators_are_folded(name: str, tool: str) -> None:
    assert mended(name).name == tool


@pytest.mark.parametrize(
    ("name", "tool"),
    [
        ("functions.read", "read"),
        ("functions.Read", "read"),
        ("default_api.read_file", "read_file"),
        ("default_api:read_file", "read_file"),
        ("default_api::read", "read"),
        ("repo_browser.read_file", "read_file"),
        ("tools/read", "read"),
        ("paloma.read", "read"),
        ("functions.tools.read", "read"),
        ("functions.read:0", "read"),
        ("read:3", "read"),
    ],
)
def test_a_known_prefix_and_the_number_of_a_call_are_dropped(name: str, tool: str) -> None:
    assert mended(name).name == tool


def test_a_server_before_the_name_is_found_in_the_declared_name() -> None:
    tools = declared("mcp__memory__read_graph", "read_graph_file", "linear_list_issues")
    assert mended("memory:read_graph", tools).name == "mcp__memory__read_graph"
    assert mended("linear.list_issues", tools).name == "linear_list_issues"
    assert mended("mcp__linear__list_issues", tools).name == "linear_list_issues"


@pytest.mark.parametrize(
    "name",
    [
        "sandbox.read",
        "dry_run.Bash",
        "never.read_file",
        "a.b.read",
        "functions.sandbox.read",
        "sandbox.functions.read",
        "host/read",
        "docker://read",
        "memory:read",
        "mcp__read",
        "mcp____read",
        "mcp__files__read_file",
        "mcp__sandbox__Bash",
        "mcp__files__read:0",
        ".read",
        "/Bash",
        "ba.sh",
        "b__ash",
        "mcp__ba__sh",
        "sandbox.readsandbox.read",
        "sandbox.readarguments",
    ],
)
def test_any_other_prefix_is_another_tools_name(name: str) -> None:
    unknown(name)


def test_a_server_or_a_namespace_counts_where_it_is_declared() -> None:
    tools = declared("sandbox_bash", "Bash", "mcp__files__read", "WebSearch")
    assert mended("sandbox.bash", tools).name == "sandbox_bash"
    assert mended("mcp__sandbox__bash", tools).name == "sandbox_bash"
    assert mended("files:read", tools).name == "mcp__files__read"
    assert mended("functions.mcp__files__read", tools).name == "mcp__files__read"
    assert mended("web.search", tools).name == "WebSearch"
    unknown("mcp__web__search", tools)
    unknown("other.files.read", tools)


def test_a_deferred_tool_of_another_server_is_not_folded_into_ours() -> None:
    unknown("mcp__files__Read")
    unknown("mcp__files__readFile")
    unknown("read_graph", declared("mcp__memory__read_graph"))


@pytest.mark.parametrize(
    ("name", "tool"),
    [
        ("read<|channel|>commentary", "read"),
        ("functions.read<|channel|>commentary", "read"),
        ("read_file<|tool_call_argument_begin|>", "read_file"),
        ("<|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>", "read"),
        ("</think>read", "read"),
        ("<tool_call>read", "read"),
        ("read</tool_call>", "read"),
        ("read<arg_key>", "read"),
        ("Bash <|constrain|>json", "Bash"),
        ("function<｜tool▁sep｜>", "function"),
        ("<think></think>read", "read"),
        ("read<think>", "read"),
    ],
)
def test_template_tokens_are_cut(name: str, tool: str) -> None:
    result = mended(name)
    assert result.name == tool
    assert result.arguments is None


@pytest.mark.parametrize(
    "name",
    [
        "dry_run<|x|>Bash",
        "<|dry_run|>Bash",
        "<dry_run>Bash",
        "<not>Bash</not>",
        "<think>Bash",
        "Bash</think>",
        "<think>Bash</think>",
        "Bash<dry_run>",
        "Bash<|channel|>do not run",
        "Bash<|channel|>commentary never",
        "<|tool_call_begin|>sandbox.Bash:0<|tool_call_argument_begin|>",
        "not <tool_call>Bash",
    ],
)
def test_what_is_no_token_of_a_template_is_not_cut(name: str) -> None:
    unknown(name)


def test_json_behind_a_template_token_is_handed_over_as_text() -> None:
    result = mended('read<|channel|>commentary json<|message|>{"filePath":"/a<b>"}')
    assert (result.name, result.arguments) == ("read", '{"filePath":"/a<b>"}')


@pytest.mark.parametrize(
    ("name", "tool"),
    [
        ("readread", "read"),
        ("read_fileread_file", "read_file"),
        ("readreadread", "read"),
        ("functions.read:0functions.read:0", "read"),
        ("ReadRead", "read"),
        ("functions.readfunctions.read", "read"),
    ],
)
def test_a_repeated_name_is_taken_once(name: str, tool: str) -> None:
    assert mended(name).name == tool


def test_a_repetition_that_fits_two_tools_fits_none() -> None:
    unknown("aaaa", declared("a", "aa"))


def test_a_word_of_the_wire_glued_to_the_name_is_dropped() -> None:
    assert mended("read_filearguments").name == "read_file"
    assert mended("read_fileparameters").name == "read_file"
    unknown("read_filepath")
    unknown("readinput")
    unknown("read_file_arguments")
    unknown("arguments")


def test_arguments_inside_the_name_are_taken_out_of_it() -> None:
    result = mended(
        "read<arg_key>filePath</arg_key><arg_value>/a b\n</arg_value>\n<arg_key>limit</arg_key>"
        "<arg_value>5</arg_value></tool_call>"
    )
    assert result.name == "read"
    assert result.arguments == {"filePath": "/a b\n", "limit": "5"}
    assert result.steps == ("name: arguments taken out of it",)


@pytest.mark.parametrize(
    "name",
    [
        "read<arg_key>filePath",
        "read<arg_key>filePath</arg_key>",
        "read<arg_key>filePath</arg_key><arg_value>/a",
        "read<arg_key>filePath</arg_key><arg_value>/a</arg_value>tail",
        "read<arg_key>p</arg_key><arg_value>1</arg_value><arg_key>p</arg_key><arg_value>2</arg_value>",
        "read<arg_key></arg_key><arg_value>1</arg_value>",
        "read<arg_key>p</arg_key><arg_value>a</arg_value>b</arg_value>",
        "read<x><arg_key>p</arg_key>",
        'read<x>commentary: {"filePath":"/a"}',
        "nothing<arg_key>p</arg_key><arg_value>1</arg_value>",
    ],
)
def test_arguments_that_are_cut_off_or_doubtful_leave_the_name_as_it_came(name: str) -> None:
    unknown(name)


@pytest.mark.parametrize("name", ["⚙", "", " ", "…", "<>", "--", "🔧🔧"])
def test_without_a_letter_or_a_digit_it_is_no_name(name: str) -> None:
    result = mend_name(name, CODING)
    assert (result.status, result.name, result.steps) == ("not_a_name", name, ())
    assert mend_name(name, Tools()).status == "not_a_name"


@pytest.mark.parametrize(
    "name", ["ProxyRead", "reed", "read_fil", "read_files", "write", "get_v10", "読む", "read file please"]
)
def test_likeness_is_no_match(name: str) -> None:
    unknown(name)


def test_two_tools_that_fold_alike_are_no_match() -> None:
    unknown("READ", declared("read", "Read"))
    unknown("functions.READ", declared("read", "Read"))


def test_without_declared_tools_nothing_is_said() -> None:
    unknown("functions.read", Tools())


def test_a_very_long_name_is_not_looked_into() -> None:
    unknown("read" * 100_000)
    unknown("x" * 2_000_000)


NAMESPACED = Tools(
    [
        Tool("js", {"type": "object"}, namespace="mcp__node_repl"),
        Tool("reset", {"type": "object"}, namespace="mcp__node_repl"),
        Tool("search", {"type": "object"}, namespace="mcp__tavily__"),
        Tool("search", {"type": "object"}, namespace="mcp__docs"),
        Tool("reset", {"type": "object"}),
    ]
)


@pytest.mark.parametrize(
    ("name", "namespace", "child"),
    [
        ("mcp__node_repl.js", "mcp__node_repl", "js"),
        ("mcp__node_repl__js", "mcp__node_repl", "js"),
        ("mcp__node_repl/js", "mcp__node_repl", "js"),
        ("node_repl.js", "mcp__node_repl", "js"),
        ("js", "mcp__node_repl", "js"),
        ("mcp__tavily__search", "mcp__tavily__", "search"),
        ("mcp__docs.search", "mcp__docs", "search"),
        ("mcp__node_repl.reset", "mcp__node_repl", "reset"),
    ],
)
def test_the_namespace_is_restored_from_the_request(name: str, namespace: str, child: str) -> None:
    result = mended(name, NAMESPACED)
    assert (result.namespace, result.name) == (namespace, child)
    assert "name: namespace set as declared" in result.steps


def test_a_bare_child_of_two_namespaces_is_unknown() -> None:
    unknown("search", NAMESPACED)


def test_a_name_outside_the_namespaces_needs_none() -> None:
    result = mend_name("reset", NAMESPACED)
    assert (result.status, result.namespace) == ("exact", None)


def test_a_namespace_that_the_call_carries_is_used() -> None:
    result = mend_name("search", NAMESPACED, "mcp__docs")
    assert (result.status, result.namespace) == ("exact", "mcp__docs")
    result = mend_name("JS", NAMESPACED, "mcp__node_repl")
    assert (result.status, result.namespace, result.name) == ("mended", "mcp__node_repl", "js")
    result = mend_name("search", NAMESPACED, "mcp__nowhere")
    assert (result.status, result.namespace) == ("unknown", "mcp__nowhere")


def test_a_tool_that_the_server_runs_is_no_target() -> None:
    tools = Tools.read({"tools": [{"type": "web_search"}]})
    assert mend_name("web_search", tools).status == "exact"
    unknown("WebSearch", tools)

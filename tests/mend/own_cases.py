"""Five cases of our own for each class of the corpus, written before the corpus was read.

`REFUSE` means that no object may come out. Inputs are the argument text exactly as it came.
"""

from __future__ import annotations

from typing import Any

REFUSE: None = None

CASES: dict[str, list[tuple[str, dict[str, Any] | None]]] = {
    "bad_escape": [
        (r'{"pattern":"^\d{4}-\w+\s*$"}', {"pattern": r"^\d{4}-\w+\s*$"}),
        (r'{"path":"D:\projects\src\main.rs"}', {"path": r"D:\projects\src\main.rs"}),
        (r'{"command":"grep -E \"foo\|bar\" x"}', {"command": r'grep -E "foo\|bar" x'}),
        (r'{"text":"it\'s fine"}', {"text": "it's fine"}),
        (r"{'text':'\U0001F600 \UFFFFFFFF'}", {"text": r"\U0001F600 \UFFFFFFFF"}),
        (r'{"pattern":"\bfoo\b\s+\(x\)"}', {"pattern": r"\bfoo\b\s+\(x\)"}),
        (r'{"command":"cd C:\Users && grep \d+ f"}', {"command": r"cd C:\Users && grep \d+ f"}),
        (r'{"command":"cd C:\new && grep \d+ f"}', REFUSE),
        (r'{"command":"type D:\report.txt","x":"\d"}', REFUSE),
        (r'{"path":"src\test\new.py",}', REFUSE),
    ],
    "combo": [
        ("```json\n{'a': True, 'b': [1, 2,],}\n```", {"a": True, "b": [1, 2]}),
        ("Here:\n{path: '/a', // why\n recursive: None}", {"path": "/a", "recursive": None}),
        ("{“a”：“b”，'c': 1,}</tool_call>", {"a": "b", "c": 1}),
        ('{}{"a": "x\ty" "b": "2"', {"a": "x\ty", "b": "2"}),
        ("\ufeff\"{'a': 'b'}\"", REFUSE),
    ],
    "concat": [
        ('{"a":1}{"a":1}', {"a": 1}),
        ('{"a":1}\n{"a":2}', REFUSE),
        ('{}{}{"path":"/x"}', {"path": "/x"}),
        ('{"a":1}{"a":1}{"a":1}', {"a": 1}),
        ('{"a":1},{"b":2}', REFUSE),
        ('{"a":1,"b":{"c":2,"d":3}}{"b":{"d":3,"c":2},"a":1}', {"a": 1, "b": {"c": 2, "d": 3}}),
        ('{"a":1,"b":true}{"b":1,"a":true}', REFUSE),
    ],
    "ctrl": [
        ('{"a":"x\ny"}', {"a": "x\ny"}),
        ('{"a":"\tindent\r\n"}', {"a": "\tindent\r\n"}),
        ('{"a":"\x00\x1b[0m"}', {"a": "\x00\x1b[0m"}),
        ('{"content":"def f():\n\treturn \\"x\\"\n",}', {"content": 'def f():\n\treturn "x"\n'}),
        ('{"k\ney":"v\x7f"}', {"k\ney": "v\x7f"}),
    ],
    "deep": [
        ('{"a":' * 50 + "1" + "}" * 50, {"a": "nested 50"}),  # compared by depth in the test
        ('{"a":' + "[" * 100_000, REFUSE),
        ("{" * 5000, REFUSE),
        ('{"a":' + "[" * 20_000 + "]" * 20_000 + "}", REFUSE),
        ("{'a':" + "(" * 5000 + ")" * 5000 + "}", REFUSE),
    ],
    "double_enc": [
        (r'"{\"city\":\"Oslo\"}"', {"city": "Oslo"}),
        (r'"\"{\\\"a\\\":1}\""', {"a": 1}),
        (r"{\"path\": \"/a b\", \"n\": 2}", {"path": "/a b", "n": 2}),
        (r'"{hello world}"', REFUSE),
        (r'"{\"code\":\"print(\\\"hi\\\\n\\\")\"}"', {"code": 'print("hi\\n")'}),
        (r'"{\"city\":\"Oslo\"}"</tool_call>', REFUSE),  # decided later: something around it is a second fault
        ('```json\n"{\\"a\\": \\"b\\"}"\n```', REFUSE),
        (r'<tool_call>"{\"a\": 1,}"</tool_call>', REFUSE),
        ('\ufeff"{\\"a\\": \\"b\\"}"', REFUSE),
        (r'Arguments: "{\"a\": 1}"', REFUSE),
        (r'Never run "{\"a\": 1}"', REFUSE),
        (r'"{\"a\": 1}" (do not run)', REFUSE),
        (r'"{\"a\": 1}", "{\"a\": 2}"', REFUSE),
        (r'"{\"a\": \"C:\\new\"}"</tool_call>', REFUSE),
    ],
    "dup_keys": [
        ('{"a":1,"a":2}', {"a": 2}),
        ('{"a":"x","b":1,"a":"x"}', {"a": "x", "b": 1}),
        ('{"a":{"b":1,"b":2}}', {"a": {"b": 2}}),
        ('{"":1,"":2}', {"": 2}),
        ('{"a":null,"a":[]}', {"a": []}),
    ],
    "empty": [
        ("", {}),
        (" \n\t ", {}),
        ("null", {}),
        ("{}", {}),
        ("{ \n }", {}),
    ],
    "extra_close": [
        ('{"a":1}}', {"a": 1}),
        ('{"a":[1,2]]}', {"a": [1, 2]}),
        ('{"a":{"b":1}}}}', {"a": {"b": 1}}),
        ('{"a":"}"}}]', {"a": "}"}),
        ('{"a":[{"b":1}}]}', {"a": [{"b": 1}]}),
    ],
    "fence": [
        ('```json\n{"a":1}\n```', {"a": 1}),
        ('```\n{"a":"```"}\n```', {"a": "```"}),
        ("```json5\n{a:1}\n```\n", {"a": 1}),
        ('```json\n{"a":1}', {"a": 1}),
        ('~~~\n{"a":"b"}\n~~~', {"a": "b"}),
    ],
    "garbage": [
        ("hello", REFUSE),
        ("}{", REFUSE),
        ("{,}", REFUSE),
        ("<html><body>502 Bad Gateway</body></html>", REFUSE),
        ("{hello world}", REFUSE),
    ],
    "html": [
        ('{"a":"x &amp;&amp; y"}', {"a": "x &amp;&amp; y"}),
        ("{&quot;a&quot;: &quot;b&quot;}", {"a": "b"}),
        ('{"a":"<b>bold</b>",}', {"a": "<b>bold</b>"}),
        ("{'html': '<a href=\"/x\">y</a>'}", {"html": '<a href="/x">y</a>'}),
        ("<p>Sorry</p>", REFUSE),
    ],
    "inner_quotes": [
        ('{"command":"echo "hi" there"}', {"command": 'echo "hi" there'}),
        ('{"command":"grep "foo" file","n":1}', {"command": 'grep "foo" file', "n": 1}),
        (
            '{"path":"a.html","content":"<a href="x">y</a>"}',
            {"path": "a.html", "content": '<a href="x">y</a>'},
        ),
        ('{"a":"say "x", "b":"c"}', REFUSE),
        ('{"msg":"he said "yes"."}', {"msg": 'he said "yes".'}),
    ],
    "invisible": [
        ('\ufeff{"a":1}', {"a": 1}),
        ('{\u00a0"a":\u00a01}', {"a": 1}),
        ('{\u200b"a": "b\u200bc"}', {"a": "b\u200bc"}),
        ('{"a":1}\u200b', {"a": 1}),
        ('\u2060{"a\u00a0b":"\ufeffx",}', {"a\u00a0b": "\ufeffx"}),
    ],
    "js_literals": [
        ("{a: `x`}", {"a": "x"}),
        ("{a: undefined}", REFUSE),
        ("{a: new Date()}", REFUSE),
        ("{a: `x ${y}`}", REFUSE),
        ("{'a': true, b: null}", {"a": True, "b": None}),
    ],
    "json5": [
        ("{a: 1, $b_c: 'x', /* c */ d: +.5,}", {"a": 1, "$b_c": "x", "d": 0.5}),
        ("{a: 0xFF, b: -0x10, c: 5.}", {"a": 255, "b": -16, "c": 5.0}),
        ("{// first\n'a': 'line \\\ncontinued'}", REFUSE),  # decided later: a backslash before a line break
        (r"{a: '\x41\v\0'}", {"a": "A\x0b\x00"}),
        ('{"a":[1,2,],"b":{c:[],},}', {"a": [1, 2], "b": {"c": []}}),
    ],
    "kv": [
        ('"n": 1, "path": "/a"', REFUSE),  # decided later: only the schema proves what was before it
        ('"path": "/a", "n": 1}', REFUSE),
        ('"path": "/a", "n": 1', REFUSE),
        ("path=/a n=1", REFUSE),
        ("path: /a", REFUSE),
        ('"a": "b"}', REFUSE),
        ('code":"uptime"}', REFUSE),
    ],
    "missing_comma": [
        ('{"a":1 "b":2}', {"a": 1, "b": 2}),
        ('{"a":"x"\n"b":"y"}', {"a": "x", "b": "y"}),
        ('{"a":[1 2 3]}', {"a": [1, 2, 3]}),
        ('{"a":{"b":1}"c":[true false]}', {"a": {"b": 1}, "c": [True, False]}),
        ('{"a":["x" "y"]}', {"a": ["x", "y"]}),
        ('{"a":"x""": "y"}', REFUSE),
        ('{"a":1 "": 2}', REFUSE),
        ("{'a':'x' ' ': 'y'}", REFUSE),
        ('{"a":1, "": 2,}', {"a": 1, "": 2}),
    ],
    "missing_quote": [
        ('{"a: 1}', REFUSE),  # decided later: a quote is never invented
        ('{a": 1}', REFUSE),
        ('{"a": "b}', REFUSE),
        ('{"a": /x/y"}', REFUSE),
        ('{"path": "/a, "n": 1}', REFUSE),
    ],
    "nonfinite": [
        ('{"a":NaN}', REFUSE),
        ('{"a":-Infinity,"b":1}', REFUSE),
        ('{"a":1e999}', REFUSE),
        ("{'a': nan}", REFUSE),
        ('{"a":"NaN"}', {"a": "NaN"}),
    ],
    "numbers": [
        ('{"a":12345678901234567890123,}', {"a": 12345678901234567890123}),
        ("{'a': 0.1000}", {"a": 0.1}),
        ("{a: 007}", REFUSE),
        ("{'a': 1_000}", {"a": 1000}),
        ('{"a":1.2.3}', REFUSE),
    ],
    "odd": [
        ('{"a":1;"b":2}', {"a": 1, "b": 2}),
        ('{"a"=1}', REFUSE),  # decided later: `=` between a key and a value is another language
        ('{"a" => "b"}', REFUSE),
        ('{"a":,"b":1}', REFUSE),
        ('[{"a":1}]', {"a": 1}),
        ('[{"a":1},{"a":1}]', REFUSE),
        ('[{"a":1},{}]', REFUSE),
        ('[{"a":1},2]', REFUSE),
        ("[{'a':1}]", REFUSE),  # decided later: a list, and no JSON
        ("[{'a':1},{'a':1}]", REFUSE),
        ("[{'a':1},{'b':1}]", REFUSE),
        ("[{'a':1},{}]", REFUSE),
        ('[[{"a":1}]]', REFUSE),
    ],
    "prose": [
        ('Sure! {"a":1}', {"a": 1}),
        ('{"a":1} Let me know.', REFUSE),  # decided later: text behind the object
        ('I will call {tool} with {"a":1}', REFUSE),  # decided later: only labels stand in front
        ('Arguments: {"path":"/x"}', {"path": "/x"}),
        ('Here it is:\n\n{"a":"{b}"}\n', {"a": "{b}"}),
    ],
    "py_dict": [
        ("{'a': 1, 'b': [1, 2], 'c': {'d': 'e'}}", {"a": 1, "b": [1, 2], "c": {"d": "e"}}),
        ("{'a': (1, 2), 'b': ()}", {"a": [1, 2], "b": []}),
        ("{'a': (1,)}", {"a": [1]}),
        ("dict(a=1, b='x')", REFUSE),  # decided later: a call is no literal
        ("{'a': ('one ' 'two')}", {"a": "one two"}),
    ],
    "py_literals": [
        ("{'a': b'é'}", {"a": "é"}),
        ("{'a': True, 'b': False, 'c': None}", {"a": True, "b": False, "c": None}),
        ('{"a": True}', {"a": True}),
        ('{"a": [None, true, False]}', {"a": [None, True, False]}),
        ("{'a': {1, 2}}", REFUSE),
        ("{'a': PosixPath('/x')}", REFUSE),
    ],
    "py_mixed": [
        ("{'a': \"it's\", \"b\": 'x'}", {"a": "it's", "b": "x"}),
        ('{"a": \'He said "x"\'}', {"a": 'He said "x"'}),
        ("{'a': \"x\\'y\"}", {"a": "x'y"}),
        ("{'a': 'b', \"c\": true, 'd': null}", {"a": "b", "c": True, "d": None}),
        ("{'cmd': 'echo \"$HOME\" && ls', \"n\": None}", {"cmd": 'echo "$HOME" && ls', "n": None}),
    ],
    "py_quotes": [
        ("{'a': 'don\\'t'}", {"a": "don't"}),
        ("{'a': 'don't stop'}", {"a": "don't stop"}),
        ("{'a': '''x\ny'''}", {"a": "x\ny"}),
        ("{'a': r'\\d+\\n'}", {"a": "\\d+\\n"}),
        ('{\'a\': """say "hi" now"""}', {"a": 'say "hi" now'}),
    ],
    "string_safety": [
        ('{"a":"x, \\"b\\": 1}",}', {"a": 'x, "b": 1}'}),
        ("{'a': ' padded \\n'}", {"a": " padded \n"}),
        ('{"a":"// not a comment /* nor this */",}', {"a": "// not a comment /* nor this */"}),
        ('{"a":"True, None, ‘x’ ，：",}', {"a": "True, None, ‘x’ ，："}),
        ('{"a":"</tool_call>```",}</tool_call>', {"a": "</tool_call>```"}),
    ],
    "toplevel": [
        ("[1,2]", REFUSE),
        ("42", REFUSE),
        ('"text"', REFUSE),
        ("true", REFUSE),
        ("[]", REFUSE),
    ],
    "trailer": [
        ('{"a":1}</tool_call>', {"a": 1}),
        ('{"a":1}<|tool_call_end|><|im_end|>', {"a": 1}),
        ('{"a":1}</parameter></function>\n</tool_call>', {"a": 1}),
        ('{"a":1}}</s', {"a": 1}),
        ('{"a":"<|im_end|>"}<|im_end|>', {"a": "<|im_end|>"}),
        ('{"a":1}[/INST]', {"a": 1}),
        ('[/INST]{"a":1}', REFUSE),
        ('{"a":1}<|call|><|start|>assistant', {"a": 1}),
        ('{"a":1}<|im_end|>\n<|im_start|>assistant\n', {"a": 1}),
        ('{"a":1}<|im_end|>\n<|im_start|>user\n', REFUSE),
        ('{"a":1}<|call|><|start|>assistant<|channel|>final<|message|>Not that.', REFUSE),
        ('{"a":1} assistant', REFUSE),
    ],
    "trunc_struct": [
        ('{"a":1,"b":["1","2"', {"a": 1, "b": ["1", "2"]}),
        ('{"a":1,"b":[1,2', REFUSE),  # 2 may be the beginning of 200
        ('{"a":1,"b":[1,2]', {"a": 1, "b": [1, 2]}),
        ('{"a":1,"b":2\n', {"a": 1, "b": 2}),  # the line end shows that the number is whole
        ('{"command":"rm -rf out00","timeout":3', REFUSE),
        ('{"a":-1.5e3', REFUSE),
        ('{"a":0x1F', REFUSE),
        ('{"a":true', REFUSE),
        ('{"a":None', REFUSE),
        ('{"a":{"b":null', REFUSE),
        ('"{\\"a\\": 3"', REFUSE),
        ('"{\\"a\\": 3', REFUSE),
        ('```json\n{"a": 3', REFUSE),
        ('{"a":{"b":"x"}', {"a": {"b": "x"}}),
        ('{"a":["x","y"]', {"a": ["x", "y"]}),
        ('{"a":"x",', REFUSE),  # the corpus: after a comma something was to come
        ('{"edits":[{"old":"a","new":"b"}', {"edits": [{"old": "a", "new": "b"}]}),
    ],
    "trunc_value": [
        ('{"command":"rm -rf /', REFUSE),
        ('{"a":1,"b":', REFUSE),
        ('{"a":"x","b":tr', REFUSE),
        ('{"a":"x\\', REFUSE),
        ('{"a":"x","con', REFUSE),
    ],
    "unicode_punct": [
        ("{“a”: “b”}", {"a": "b"}),
        ('{"a"：1，"b"：[1，2]}', {"a": 1, "b": [1, 2]}),
        ("｛'a'：‘b’｝", {"a": "b"}),
        ('{"a":"“quoted”，ok",}', {"a": "“quoted”，ok"}),
        ("{“a”: “it’s”}", {"a": "it’s"}),
    ],
    "valid": [
        ('{"a":1}', {"a": 1}),
        (' {"a" : [1.50, -0, 1e5]}\n', {"a": [1.5, 0, 1e5]}),
        ('{"a":"\\ud800"}', {"a": "\ud800"}),
        ('{"path":"C:\\new\\temp"}', {"path": "C:\new\temp"}),
        ('{"a":{},"b":[],"c":null}', {"a": {}, "b": [], "c": None}),
    ],
    "wrapper": [
        ('{"arguments":{"a":1}}', {"arguments": {"a": 1}}),
        ("{'arguments': {'a': 1}}", {"arguments": {"a": 1}}),
        ('{"input":"{\\"a\\":1}"}', {"input": '{"a":1}'}),
        ('{"name":"bash","arguments":{"command":"ls",}}', {"name": "bash", "arguments": {"command": "ls"}}),
        ('{"parameters":"{}",}', {"parameters": "{}"}),
    ],
}

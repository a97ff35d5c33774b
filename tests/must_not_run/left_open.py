"""Quotations that are open where a call stands, and beside each the like that is closed before the call.

By idea: what is quoted, and what is a call. `CALL` stands for the call. Behind a quotation that is closed the call is
the model's own, so each idea shows as well that nothing is quoted for ever.
"""

from __future__ import annotations

from typing import NamedTuple

from tests.must_not_run.quoted_ends import CALL
from tests.must_not_run.written import FORMATS

FAR = "The first line of the page is a very long one, " * 4
"""So much of a line that what opens behind it stands beyond its beginning."""


class Idea(NamedTuple):
    quoted: dict[str, str]
    calls: dict[str, str]


def _raw(command: str) -> str:
    """A call whose value is written as it is."""
    return FORMATS["invoke"](("Bash", {"command": command}))


STRINGS = Idea(
    quoted={
        "a double quote": f'prompt = "\nLike this:\n\n{CALL}',
        "an apostrophe": f"print('\nLike this:\n\n{CALL}",
        "a backtick": f"const prompt = `\nLike this:\n\n{CALL}",
        "a tagged template": f"const page = html`\nLike this:\n\n{CALL}",
        "String.raw": f"console.log(String.raw`\nLike this:\n\n{CALL}",
        "a verbatim string of C#": f'var prompt = @"\nLike this:\n\n{CALL}',
        "a here-string of PowerShell": f"$prompt = @'\nLike this:\n\n{CALL}",
        "an f-string": f'prompt = f"\nLike this:\n\n{CALL}',
        "a key of JSON": f'{{"prompt": "\nLike this:\n\n{CALL}',
        "an argument": f'say(1, "\nLike this:\n\n{CALL}',
        "a closed string before it on the line": f'a = "x", b = "\nLike this:\n\n{CALL}',
        "a mark in the middle of a line below": f'prompt = "\nHe said "so" and went.\n\n{CALL}',
    },
    calls={
        "a double quote, closed": f'prompt = "\nLike this.\n"\n\nNow I look.\n\n{CALL}',
        "an apostrophe, closed": f"print('\nLike this.\n')\n\nNow I look.\n\n{CALL}",
        "a backtick, closed": f"const prompt = `\nLike this.\n`;\n\nNow I look.\n\n{CALL}",
        "a tagged template, closed": f"const page = html`\nLike this.\n`;\n\nNow I look.\n\n{CALL}",
        "String.raw, closed": f"console.log(String.raw`\nLike this.\n`);\n\nNow I look.\n\n{CALL}",
        "a verbatim string of C#, closed": f'var prompt = @"Like\nthis.\n";\n\nNow I look.\n\n{CALL}',
        "a here-string of PowerShell, closed": f"$prompt = @'\nLike this.\n'@\n\nNow I look.\n\n{CALL}",
        "an f-string, closed": f'prompt = f"\nLike this.\n"\n\nNow I look.\n\n{CALL}',
        "a key of JSON, closed": f'{{"prompt": "\nLike this.\n"}}\n\nNow I look.\n\n{CALL}',
        "a string of one line": f'prompt = "so"\n\nNow I look.\n\n{CALL}',
        "an empty string": f'prompt = ""\n\nNow I look.\n\n{CALL}',
        "a template of one line": f"const page = html`so`\n\nNow I look.\n\n{CALL}",
    },
)

RAW_STRINGS = Idea(
    quoted={
        "C++": f'auto p = R"(\nLike this:\n\n{CALL}',
        "C++, a delimiter of its own": f'auto p = R"x(\nLike this:\n\n{CALL}',
        "C++, the closer of another delimiter": f'auto p = R"x(\nLike this: )"\n)y"\n\n{CALL}',
        "C++, a prefix": f'auto p = u8R"~~(\nLike this:\n\n{CALL}',
        "C++, behind a closed one": f'auto p = R"x(a)x" R"y(\nLike this:\n\n{CALL}',
        "Rust": f'let p = r#"\nLike this:\n\n{CALL}',
        "Rust, with quotes in it": f'let p = r#"\nHe said "so".\n\n{CALL}',
        "Rust, the closer of fewer hashes": f'let p = r##"\nsay "so"#\n\n{CALL}',
        "Rust, bytes": f'let p = br#"\nLike this:\n\n{CALL}',
        "Rust, behind a closed one": f'let p = (r#"a"#, r#"\nLike this:\n\n{CALL}',
    },
    calls={
        "C++, closed": f'auto p = R"(\nLike this.\n)";\n\nNow I look.\n\n{CALL}',
        "C++, a delimiter of its own, closed": f'auto p = R"x(\nLike this: )"\n)x";\n\nNow I look.\n\n{CALL}',
        "C++, closed on its line": f'auto p = R"x(so)x";\n\nNow I look.\n\n{CALL}',
        "C++, a prefix, closed": f'auto p = u8R"~~(\nLike this.\n)~~";\n\nNow I look.\n\n{CALL}',
        "C++, two closed ones": f'auto p = R"x(a)x" R"y(\nb\n)y";\n\nNow I look.\n\n{CALL}',
        "Rust, closed": f'let p = r#"\nHe said "so".\n"#;\n\nNow I look.\n\n{CALL}',
        "Rust, two hashes, closed": f'let p = r##"\nsay "so"#\n"##;\n\nNow I look.\n\n{CALL}',
        "Rust, closed on its line": f'let p = r#"so"#;\n\nNow I look.\n\n{CALL}',
        "Rust, bytes, closed": f'let p = br#"\nLike this.\n"#;\n\nNow I look.\n\n{CALL}',
        "the letter R": f'It is the letter "R" (a capital).\n\nNow I look.\n\n{CALL}',
        "names of languages": f'I know C#, F# and "R".\n\nNow I look.\n\n{CALL}',
    },
)

BEHIND_A_QUOTED_CALL = Idea(
    quoted={
        "an item": f"- {CALL}\n{CALL}",
        "an item, behind blank lines": f"- {CALL}\n\n\n{CALL}",
        "a comment": f"// {CALL}\n{CALL}",
        "a log": f"2025-01-01 12:00:00 INFO {CALL}\n{CALL}",
        "a prompt of a shell": f"$ {CALL}\n{CALL}",
        "a block quote": f"> {CALL}\n\n{CALL}",
        "a row of a table": f"| {CALL}\n\n{CALL}",
        "a quotation mark": f'The page says "{CALL}\n\n{CALL}',
        "a heading": f"## {CALL}\n\n{CALL}",
        "three of them": f"- {CALL}\n{CALL}\n{CALL}",
        "what a user said": f"User: {CALL}\n{CALL}",
    },
    calls={
        "an item, and a sentence": f"- {CALL}\n\nThat was in the file, and now I look.\n\n{CALL}",
        "a comment, and a sentence": f"// {CALL}\n\nThat was in the file, and now I look.\n\n{CALL}",
        "a log, and a sentence": f"2025-01-01 12:00:00 INFO {CALL}\n\nI look at it now.\n\n{CALL}",
        "a prompt of a shell, and a sentence": f"$ {CALL}\n\nI look at it now.\n\n{CALL}",
        "a block quote, and a sentence": f"> {CALL}\n\nI look at it now.\n\n{CALL}",
        "a fence, and a sentence": f"```\n{CALL}\n```\n\nI look at it now.\n\n{CALL}",
        "an element, and a sentence": f"<page>\n{CALL}\n</page>\n\nI look at it now.\n\n{CALL}",
        "inline code, and a sentence": f"It says `{CALL}`.\n\nI look at it now.\n\n{CALL}",
        "a heading, and a sentence": f"## {CALL}\n\nI look at it now.\n\n{CALL}",
        "a here-document, and a sentence": f"cat <<EOF\n{CALL}\nEOF\n\nI look at it now.\n\n{CALL}",
        "three of them, and a sentence": f"- {CALL}\n{CALL}\n{CALL}\n\nI look at it now.\n\n{CALL}",
    },
)

FENCES = Idea(
    quoted={
        "four backticks, never closed": f"````\nls\n\n{CALL}",
        "four backticks and a closer of three": f"````\nls\n```\n\n{CALL}",
        "tildes and a closer of backticks": f"~~~\nls\n```\n\n{CALL}",
        "a closer behind a vertical tab": f"```\nls\n\x0b```\n\n{CALL}",
        "a closer behind a no-break space": f"```\nls\n\u00a0```\n\n{CALL}",
        "a closer before an ideographic space": f"```\nls\n```\u3000\n\n{CALL}",
        "a closer before a no-break space": f"```\nls\n```\u00a0\n\n{CALL}",
        "a closer behind an ideographic space": f"```\nls\n\u3000```\n\n{CALL}",
        "prose behind a closer": f"```\nls\n``` and that was it.\n\n{CALL}",
        "prose behind a closer, and another fence": f"```\nls\n``` and that was it.\n```\n\n{CALL}",
        "a closer that is indented like code": f"```\nls\n    ```\n\n{CALL}",
        "a closer behind a tab": f"```\nls\n\t```\n\n{CALL}",
        "a fence with a language inside, closed once": f"```md\n```xml\nls\n```\n\n{CALL}",
        "a closer in the middle of a line": f"```\nls ```\n\n{CALL}",
    },
    calls={
        "three backticks, closed": f"```\nls\n```\n\n{CALL}",
        "three backticks, closed, and no blank line": f"```\nls\n```\n{CALL}",
        "four backticks, closed": f"````\nls\n````\n\n{CALL}",
        "four around three": f"````md\n```\nls\n```\n````\n\n{CALL}",
        "tildes, closed": f"~~~\nls\n~~~\n\n{CALL}",
        "many tildes around backticks": f"~~~~\n```\nls\n~~~~\n\n{CALL}",
        "a longer closer": f"```\nls\n`````\n\n{CALL}",
        "a closer with spaces behind it": f"```\nls\n```  \n\n{CALL}",
        "a closer behind two spaces": f"```\nls\n  ```\n\n{CALL}",
        "both behind two spaces": f"  ```\n  ls\n  ```\n\n{CALL}",
        "both behind a no-break space": f"\u00a0```\nls\n\u00a0```\n\n{CALL}",
        "a fence with a language inside, closed twice": f"```md\n```xml\nls\n```\n```\n\n{CALL}",
        "two fences": f"```sh\nls\n```\n\nand\n\n```py\nx\n```\n\n{CALL}",
    },
)

TAGS = Idea(
    quoted={
        "attributes over lines": f'<document\n  title="a"\n  url="b">\n\n{CALL}',
        "an end on a line of its own": f'<document\n  title="a"\n>\n\n{CALL}',
        "an attribute that goes on": f'<Card\n  example="\n\n{CALL}',
        "an attribute of JSX that goes on": f"<Card\n  example={{`\n\n{CALL}",
        "markup in an attribute": f'<Card\n  example="<b>so</b>"\n\n{CALL}',
        "its own closer in an attribute": f'<document title="</document>">\nls\n\n{CALL}',
        "an element that is closed in it": f'<page\n  url="a">\n<note>\nls\n</note>\n\n{CALL}',
        "an arrow in an attribute": f"<Card\n  run={{() => 1}}>\n\n{CALL}",
        "a tag that never ends": f'<document\n  title="a"\n\n{CALL}',
        "in the middle of a line": f'It is <pre\n  class="a">\n\n{CALL}',
    },
    calls={
        "attributes over lines, closed": f'<document\n  title="a"\n  url="b">\nls\n</document>\n\nNow I look.\n\n{CALL}',
        "an end on a line of its own, closed": f'<document\n  title="a"\n>\nls\n</document>\n\nNow I look.\n\n{CALL}',
        "an attribute that goes on, closed": f'<Card\n  example="\nls\n"\n/>\n\nNow I look.\n\n{CALL}',
        "an attribute of JSX, closed": f"<Card\n  example={{`\nls\n`}}\n/>\n\nNow I look.\n\n{CALL}",
        "markup in an attribute, closed": f'<Card\n  example="<b>so</b>"\n/>\n\nNow I look.\n\n{CALL}',
        "its own closer in an attribute, closed": f'<document title="</document>">\nls\n</document>\n\nNow I look.\n\n{CALL}',
        "no content": f'<Card\n  name="a"\n/>\n\nNow I look.\n\n{CALL}',
        "an element of HTML that needs no closer": f'<img\n  alt="a"\n>\n\nNow I look.\n\n{CALL}',
        "an element that is closed in it, closed": f'<page\n  url="a">\n<note>\nls\n</note>\n</page>\n\nNow I look.\n\n{CALL}',
        "an arrow in an attribute, closed": f"<Card\n  run={{() => 1}}>\nls\n</Card>\n\nNow I look.\n\n{CALL}",
        "on one line": f'<page url="a">ls</page>\n\nNow I look.\n\n{CALL}',
    },
)

LONG_LINES = Idea(
    quoted={
        "a comment": f"{FAR}<!--\n\n{CALL}",
        "a here-document": f"{FAR}; cat <<EOF\n\n{CALL}",
        "a template": f"{FAR}; const p = `\n\n{CALL}",
        "a string": f'{FAR}; p = "\nLike this:\n\n{CALL}',
        "three quotes": f'{FAR}; p = """\n\n{CALL}',
        "an element": f"{FAR}<pre>\n\n{CALL}",
        "a typographic quote": f"{FAR}“\n\n{CALL}",
        "a raw string": f'{FAR}; p = R"x(\n\n{CALL}',
        "inline code": f"{FAR}`{CALL}",
        "a quotation mark": f'{FAR} it says "{CALL}',
        "a string of Lua": f"{FAR}; local p = [[\n\n{CALL}",
    },
    calls={
        "a comment, closed": f"{FAR}<!-- so -->\n\nNow I look.\n\n{CALL}",
        "a here-document, closed": f"{FAR}; cat <<EOF\nls\nEOF\n\nNow I look.\n\n{CALL}",
        "a template, closed": f"{FAR}; const p = `\nls\n`;\n\nNow I look.\n\n{CALL}",
        "a string, closed": f'{FAR}; p = "\nls\n"\n\nNow I look.\n\n{CALL}',
        "three quotes, closed": f'{FAR}; p = """\nls\n"""\n\nNow I look.\n\n{CALL}',
        "an element, closed": f"{FAR}<pre>\nls\n</pre>\n\nNow I look.\n\n{CALL}",
        "a typographic quote, closed": f"{FAR}“so”\n\nNow I look.\n\n{CALL}",
        "a raw string, closed": f'{FAR}; p = R"x(\nls\n)x";\n\nNow I look.\n\n{CALL}',
        "inline code, closed": f"{FAR}`ls`\n\nNow I look.\n\n{CALL}",
        "a string of Lua, closed": f"{FAR}; local p = [[\nls\n]]\n\nNow I look.\n\n{CALL}",
        "nothing but words": f"{FAR}\n\nNow I look.\n\n{CALL}",
    },
)

MANY_MARKS = Idea(
    quoted={
        "nine": "“" * 9 + f"so\n\n{CALL}",
        "nine, all but one closed": "“" * 9 + "so" + "”" * 8 + f"\n\nI do it.\n\n{CALL}",
        "nine, by lines": "“so\n" * 9 + f"\n{CALL}",
        "forty": "«" * 40 + f"so\n\n{CALL}",
        "of several kinds": "“‘«„「『《‹❝so" + f"\n\n{CALL}",
        "eight, all but one closed": "“" * 8 + "so" + "”" * 7 + f"\n\n{CALL}",
        "nine, and a pair behind them": "“" * 9 + f"so\n\nHe said “so”.\n\n{CALL}",
    },
    calls={
        "twenty pairs": "He said “so”. " * 20 + f"I do it.\n\n{CALL}",
        "eight in each other": "“" * 8 + "so" + "”" * 8 + f"\n\nI do it.\n\n{CALL}",
        "two kinds in each other": "He said “it is ‘so’”. " * 9 + f"I do it.\n\n{CALL}",
        "twenty pairs by lines": "He said «so».\n" * 20 + f"I do it.\n\n{CALL}",
        "twenty apostrophes": "It’s the user’s file. " * 10 + f"I do it.\n\n{CALL}",
        "twenty pairs of straight ones": 'He said "so". ' * 20 + f"I do it.\n\n{CALL}",
        "pairs of several kinds": f"“a” ‘b’ «c» „d“ 「e」 『f』 《g》 ‹h› ❝i❞. I do it.\n\n{CALL}",
    },
)

_HERE = _raw("cat <<EOF\nls\nEOF\n")
_FENCE = _raw("cat <<E\n```\nls\n```\nE\n")
_FENCES = _raw("cat <<E\n```\nls\n```\nE\n```\n")
_PRE = _raw("echo\n</pre>\n")
_COMMENT = _raw("echo\n-->\n")
_PYTHON = _raw('python - <<E\nx = 1\n"""\nE')
_TEMPLATE = _raw("node - <<E\nx\n`;\nE")
_CPP = _raw('echo\n)x";\n')
_C = _raw("echo\n*/\n")
_LUA = _raw("lua - <<E\nx\n]]\nE")

CLOSERS_IN_A_QUOTED_CALL = Idea(
    quoted={
        "a here-document in one of another word": f"cat > a <<END\n{_HERE}\n{CALL}",
        "a fence in a longer one": f"````\n{_FENCE}\n{CALL}",
        "a fence in a fence of tildes": f"~~~\n{_FENCE}\n{CALL}",
        "a fence in an item": f"- {_FENCE}\n{CALL}",
        "an element in another one": f"<page>\n{_PRE}\n{CALL}",
        "a string in a string of the other kind": f"p = '''\n{_PYTHON}\n{CALL}",
        "a raw string in one of another delimiter": f'auto p = R"y(\n{_CPP}\n{CALL}',
        "a comment in a here-document": f"cat > a <<END\n{_COMMENT}\n{CALL}",
        "a comment behind a comment of one line": f"// {_C}\n{CALL}",
        "a quotation mark in a quotation mark": f'It says "{_PYTHON}\n{CALL}',
    },
    calls={
        "a here-document, closed behind it": f"cat > a <<EOF\n{_HERE}\nEOF\n\nNow I look.\n\n{CALL}",
        "a here-document of another word, closed": f"cat > a <<END\n{_HERE}\nEND\n\nNow I look.\n\n{CALL}",
        "a longer fence, closed behind it": f"````\n{_FENCE}\n````\n\nNow I look.\n\n{CALL}",
        "an element, closed behind it": f"<pre>\n{_PRE}\n</pre>\n\nNow I look.\n\n{CALL}",
        "a comment, closed behind it": f"<!--\n{_COMMENT}\n-->\n\nNow I look.\n\n{CALL}",
        "a string of the other kind, closed": f"p = '''\n{_PYTHON}\n'''\n\nNow I look.\n\n{CALL}",
        "a template, closed behind it": f"const p = `\n{_TEMPLATE}\n`;\n\nNow I look.\n\n{CALL}",
        "a raw string, closed behind it": f'auto p = R"x(\n{_CPP}\n)x";\n\nNow I look.\n\n{CALL}',
        "a comment of C, closed behind it": f"/*\n{_C}\n*/\n\nNow I look.\n\n{CALL}",
        "a string of Lua, closed behind it": f"local p = [[\n{_LUA}\n]]\n\nNow I look.\n\n{CALL}",
    },
)
"""A quotation whose closer stands in a value of the call that it quotes: what follows runs, and should not."""

SPOKEN_OF = Idea(
    quoted={
        "an element at the head of a line": f"<page>\nls\n\n{CALL}",
        "an element at the end of a sentence": f"This is the page: <page>\n{CALL}",
        "a here-document": f"x <<y\n\n{CALL}",
        "inline code over lines": f"It says `so\nand so {CALL}",
        "inline code of two over lines": f"It says ``so\nand ` so {CALL}",
        "a straight quote before the call": f'It says "{CALL}',
        "a single quote before the call": f"It says '{CALL}",
        "a low quote over lines": f"Dort steht „so\n\n{CALL}",
    },
    calls={
        "a tag": f"I'll close the <page> tag.\n\n{CALL}",
        "the tag of a call": f"Let me fix the <tool_call> tag.\n\n{CALL}",
        "a tag of inline code": f"Let me look for the <code> tag.\n\n{CALL}",
        "a tag in inline code": f"It is the `<pre>` tag. I do it.\n\n{CALL}",
        "a generic type": f"It is a Map<String, List<Page>>. I do it.\n\n{CALL}",
        "an inch": f'It is a 5" disk. I do it.\n\n{CALL}',
        "two inches": f'It is 5" by 3". I do it.\n\n{CALL}',
        "apostrophes": f"It's the user's file, isn't it? I do it.\n\n{CALL}",
        "one apostrophe at the end of a word": f"The users' files are here. I do it.\n\n{CALL}",
        "less than": f"We know that x < y and y > z, so I do it.\n\n{CALL}",
        "less than, glued": f"We know that x<y. I do it.\n\n{CALL}",
        "a shift": f"It is 1 << 4, that is 16. I do it.\n\n{CALL}",
        "inline code over lines, closed": f"It says `so\nand so`, that is all. I do it.\n\n{CALL}",
        "inline code of two over lines, closed": f"It says ``so\nand ` so``, that is all. I do it.\n\n{CALL}",
        "inline code that its paragraph ends": f"It says `so and so. I do it.\n\n{CALL}",
    },
)

_ON = "\n\nThen it goes on.\n\n"
_OVER = "\n\nThat was it, and now I look.\n\n"

BEGUN_IN_A_LINE = Idea(
    quoted={
        "apostrophes": f"x = 'first{_ON}{CALL}",
        "apostrophes behind echo": f"echo 'first{_ON}{CALL}",
        "apostrophes in SQL": f"INSERT INTO t VALUES ('first{_ON}{CALL}",
        "Lua": f"x = [[first{_ON}{CALL}",
        "Haskell": f"x = [here|first{_ON}{CALL}",
        "Rust": f'let x = r"first{_ON}{CALL}',
        "D": f"/+ first{_ON}{CALL}",
        "a comment of Jinja": f"{{# first{_ON}{CALL}",
        "PHP": f"<?php\n// first{_ON}{CALL}",
        "LaTeX": f"\\iffalse\nfirst{_ON}{CALL}",
        "C": f"#if 0\nfirst{_ON}{CALL}",
        "a fence glued to prose in a fence": f"```\nLook:```json\n{{}}\n```\n{CALL}",
    },
    calls={
        "apostrophes, closed": f"x = 'first\nlast'{_OVER}{CALL}",
        "apostrophes, closed by a statement": f"x = 'first\nlast';{_OVER}{CALL}",
        "Lua, closed": f"x = [[first\nlast]]{_OVER}{CALL}",
        "lists in a list": f"x = [[1, 2], [3, 4]]{_OVER}{CALL}",
        "D, closed": f"/+ first\n+/{_OVER}{CALL}",
        "a comment of Jinja, closed": f"{{# first\n\n#}}{_OVER}{CALL}",
        "PHP, closed": f"<?php\n// first\n?>{_OVER}{CALL}",
        "LaTeX, closed": f"\\iffalse\nfirst\n\\fi{_OVER}{CALL}",
        "C, closed": f"#if 0\nfirst\n#endif{_OVER}{CALL}",
        "apostrophes of words": f"It doesn't work: 'a' and 'b' don't. I fix it.\n\n{CALL}",
        "a fence glued to prose in a fence, closed": f"```\nLook:```json\n{{}}\n```\n```\n{CALL}",
    },
)

IDEAS = {
    "strings at the end of a line": STRINGS,
    "raw strings": RAW_STRINGS,
    "behind a quoted call": BEHIND_A_QUOTED_CALL,
    "fences": FENCES,
    "tags": TAGS,
    "long lines": LONG_LINES,
    "many marks": MANY_MARKS,
    "closers in a quoted call": CLOSERS_IN_A_QUOTED_CALL,
    "spoken of": SPOKEN_OF,
    "begun in a line": BEGUN_IN_A_LINE,
}

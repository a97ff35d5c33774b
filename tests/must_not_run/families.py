"""The families of formats that write each argument between tags, as builders of calls and of parts of them."""

from __future__ import annotations

from dataclasses import dataclass

_A = "antml" + ":"  # the namespace
_M = "]<]minimax[>["


@dataclass(frozen=True)
class Family:
    """`{}` stands for the name of the tool or of the parameter."""

    name: str
    wrapper: tuple[str, str]
    block: tuple[str, str]
    parameter: tuple[str, str]
    gap: str = ""
    """What stands around a value and belongs to the markup."""

    def open(self, key: str) -> str:
        return self.parameter[0].replace("{}", key) + self.gap

    def close(self, key: str) -> str:
        return self.gap + self.parameter[1].replace("{}", key)

    def written(self, key: str, value: str) -> str:
        return self.open(key) + value + self.close(key)

    def begin(self, tool: str) -> str:
        return self.wrapper[0] + self.block[0].replace("{}", tool)

    @property
    def end(self) -> str:
        return self.block[1] + self.wrapper[1]

    def call(self, tool: str, **values: str) -> str:
        return self.begin(tool) + "".join(self.written(*pair) + "\n" for pair in values.items()) + self.end

    @property
    def marks(self) -> tuple[str, ...]:
        """What no value has, where a closer was forgotten."""
        tags = (*self.wrapper, *self.block, *self.parameter)
        return tuple({tag.strip().split("{}")[0].split("<|sep|>")[0] for tag in tags if tag.strip()} - {""})


def _invoke(name: str, space: str, wrapper: str) -> Family:
    return Family(
        name,
        (f"<{wrapper}>\n", f"\n</{wrapper}>") if wrapper else ("", ""),
        (f'<{space}invoke name="{{}}">\n', f"</{space}invoke>"),
        (f'<{space}parameter name="{{}}">', f"</{space}parameter>"),
    )


def _pairs(name: str, wrapper: tuple[str, str], call: str, prefix: str = "", nonce: str = "") -> Family:
    return Family(
        name,
        wrapper,
        (f"<{call}{nonce}>{{}}\n", f"</{call}{nonce}>"),
        (
            f"<{prefix}arg_key{nonce}>{{}}</{prefix}arg_key{nonce}>\n<{prefix}arg_value{nonce}>",
            f"</{prefix}arg_value{nonce}>",
        ),
    )


FAMILIES = (
    _invoke("invoke", "", "function_calls"),
    _invoke("bare invoke", "", ""),
    _invoke("the namespace", _A, f"{_A}function_calls"),
    _invoke("minimax M2", "", "minimax:tool_call"),
    Family(
        "dsml",
        ("<｜DSML｜tool_calls>\n", "\n</｜DSML｜tool_calls>"),
        ('<｜DSML｜invoke name="{}">\n', "</｜DSML｜invoke>"),
        ('<｜DSML｜parameter name="{}" string="true">', "</｜DSML｜parameter>"),
    ),
    Family(
        "step3",
        (
            "<｜tool_calls_begin｜>\n<｜tool_call_begin｜>function<｜tool_sep｜>",
            "<｜tool_call_end｜>\n<｜tool_calls_end｜>",
        ),
        ('<steptml:invoke name="{}">\n', "</steptml:invoke>"),
        ('<steptml:parameter name="{}">', "</steptml:parameter>"),
    ),
    Family(
        "xai",
        ("", ""),
        ('<xai:function_call name="{}">\n', "</xai:function_call>"),
        ('<parameter name="{}">', "</parameter>"),
    ),
    Family(
        "qwen",
        ("<tool_call>\n", "\n</tool_call>"),
        ("<function={}>\n", "</function>"),
        ("<parameter={}>", "</parameter>"),
        gap="\n",
    ),
    Family("bare qwen", ("", ""), ("<function={}>\n", "</function>"), ("<parameter={}>", "</parameter>"), gap="\n"),
    Family(
        "seed",
        ("<seed:tool_call>\n", "\n</seed:tool_call>"),
        ("<function={}>\n", "</function>"),
        ("<parameter={}>", "</parameter>"),
        gap="\n",
    ),
    Family("minicpm", ("", ""), ('<function name="{}">', "</function>"), ('<param name="{}">', "</param>")),
    _pairs("glm", ("", ""), "tool_call"),
    _pairs("longcat", ("", ""), "longcat_tool_call", prefix="longcat_"),
    _pairs("hunyuan", ("<tool_calls:a91>\n", "\n</tool_calls:a91>"), "tool_call", nonce=":a91"),
    Family(
        "kimi K3",
        ("<|open|>tools<|sep|>", "<|close|>tools<|sep|>"),
        ('<|open|>call tool="{}" index="1"<|sep|>', "<|close|>call<|sep|>"),
        ('<|open|>argument key="{}" type="string"<|sep|>', "<|close|>argument<|sep|>"),
    ),
    Family(
        "minimax M3",
        (f"{_M}<tool_call>\n", f"\n{_M}</tool_call>"),
        (f'{_M}<invoke name="{{}}">\n', f"{_M}</invoke>"),
        (f"{_M}<{{}}>", f"{_M}</{{}}>"),
    ),
)

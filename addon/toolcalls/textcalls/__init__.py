"""Tool calls written as text. Text in, text and calls out; knows no protocol and mends no JSON."""

from toolcalls.textcalls.scanner import FoundCall, Scanner
from toolcalls.textcalls.think import ThinkSplitter

__all__ = ["FoundCall", "Scanner", "ThinkSplitter"]

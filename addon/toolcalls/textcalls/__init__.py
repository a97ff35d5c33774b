"""Tool calls written as text. Text in, text and calls out; knows no protocol and mends no JSON."""

from toolcalls.textcalls.scanner import FoundCall, Scanner

__all__ = ["FoundCall", "Scanner"]

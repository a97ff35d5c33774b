"""Tool calls written as text. Text in, text and calls out; knows no protocol and mends no JSON."""

from .scanner import FoundCall, Scanner
from .think import ThinkSplitter

__all__ = ["FoundCall", "Scanner", "ThinkSplitter"]

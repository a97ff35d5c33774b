"""Tool calls written as text. Text in, text and calls out; knows no protocol and mends no JSON.

A call is *quoted* if marks around it say so, and *shown* (as an example) if the words before it say so. Neither runs.
"""

from .leaked_reasoning import ThinkSplitter
from .scanner import FoundCall, Scanner

__all__ = ["FoundCall", "Scanner", "ThinkSplitter"]

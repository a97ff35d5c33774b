"""Gemini: `:generateContent` and `:streamGenerateContent`."""

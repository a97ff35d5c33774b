"""Fuzzing: one file a part of the engine, with inputs made from a small corpus and promises that must hold."""

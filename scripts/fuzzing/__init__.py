"""Fuzzing: one file for each part of the engine, with inputs made from a small corpus and promises that must hold."""

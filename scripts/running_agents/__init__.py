"""Runs real agents against a model that calls tools badly, with and without toolfix."""

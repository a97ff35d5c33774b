"""Healthy answers of every protocol, with all that its documentation allows: nothing in them needs mending."""

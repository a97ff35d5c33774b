"""Modules that several packages of scripts/ share."""

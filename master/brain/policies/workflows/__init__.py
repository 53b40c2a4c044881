"""Policies of workflows alone."""

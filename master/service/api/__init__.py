"""Requests of clients: a handler per verb."""

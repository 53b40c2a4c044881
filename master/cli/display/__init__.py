"""Bags, schedules and studies as they look on a terminal."""

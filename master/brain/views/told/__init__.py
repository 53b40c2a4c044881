"""Views for people and programs: what is told of a run, and what is asked for."""

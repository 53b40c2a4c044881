"""Sweeps: what the user writes becomes a template and the values that fill it.

`reading.load` and `arguments.from_arguments` give a `sweep.Sweep`, which stays a template however
many tasks it has; `schema.json_schema` describes the file to editors.
"""

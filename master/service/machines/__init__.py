"""Machines and the workers on them: asked for, watched, sent away."""

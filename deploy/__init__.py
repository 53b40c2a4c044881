"""Provisioning: one file per back end behind one small protocol."""

"""The back end `ssh`: hosts that are there already."""

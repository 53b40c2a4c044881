"""Machines with and without control groups, for workers that are tested on them."""

_NO_GROUPS = """\
for at in $(awk '$3 == "cgroup2" { print $2 }' /proc/mounts); do umount -l "$at"; done; exec "$@"\
"""
WITHOUT_GROUPS = ("unshare", "--mount", "sh", "-c", _NO_GROUPS, "sh")
"""Begins the command line of a worker that finds no control groups; for root."""

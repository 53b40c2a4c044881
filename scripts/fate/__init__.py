"""The parts of scripts/fate.py: one thread of fate for master, workers, links, disks, provider."""

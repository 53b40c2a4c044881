"""The back ends of batch systems: Slurm and Grid Engine."""

"""A bag's results and books as files for other programs."""

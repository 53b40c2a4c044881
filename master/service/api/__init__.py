"""What clients may ask of a master: a handler per verb."""

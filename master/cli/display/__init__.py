"""How bags, schedules and studies look on a terminal."""

"""All decisions, no IO: events and the time go in, commands come out."""

"""The household: what bags that run side by side have in common, decided as purely as each bag."""

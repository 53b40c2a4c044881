"""The fault drill: real masters and workers, harmed at random, and an account kept apart."""

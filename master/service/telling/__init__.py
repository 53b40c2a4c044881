"""Words for users beside answers to what they ask: notices of a bag, and why a task failed."""

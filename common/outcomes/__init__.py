"""The outcomes of tasks in words and values: failures, and what tasks tell of themselves."""

"""The master: holds the bag and the budget, buys machines, hands out tasks."""

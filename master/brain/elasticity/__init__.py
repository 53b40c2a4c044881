"""Measures of autoscalers: how near supply came to demand, what it cost, who did best."""

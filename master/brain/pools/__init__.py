"""Pools of the live master: machines that come and go for all bags, as their scaler says."""

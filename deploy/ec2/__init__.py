"""The back end `ec2`: instances of Amazon, or of what speaks its language."""

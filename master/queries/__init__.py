"""What can be asked of bags: of the store, and of a running master where there is one."""

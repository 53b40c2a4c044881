"""Questions about bags: to the store, and to a running master where there is one."""

"""What results say of themselves: failures in words, and values that tasks tell."""

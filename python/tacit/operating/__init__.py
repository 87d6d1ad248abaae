"""What an operator does beside running a party: looks whether it can, approves, rotates keys."""

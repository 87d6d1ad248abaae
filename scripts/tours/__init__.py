"""What `scripts/tour.py` runs: the pages, and what their readers have before."""

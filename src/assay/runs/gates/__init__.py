"""What a run must reach: seen to be reachable before it starts, and checked afterwards."""

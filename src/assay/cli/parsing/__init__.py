"""What every verb has of the parser: how its help reads, how its errors read, how a shell completes it."""

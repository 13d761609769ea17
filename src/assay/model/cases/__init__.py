"""What goes in: a question with its gold query, the prediction, and how both are read."""

"""What goes in: a question with its gold, the prediction, and how both are read."""

"""Tables with columns of numbers, dates, categories and text, made into one matrix of numbers."""

"""The verdict on two workers' answers: numbers side by side, where they part, and what the run cannot show."""

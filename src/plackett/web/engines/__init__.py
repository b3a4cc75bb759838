"""Live search engines: their settings, requests and answers, and the collection of what they find."""

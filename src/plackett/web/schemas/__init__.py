"""What the API takes and answers, with the limits of each value: the OpenAPI description is made of these."""

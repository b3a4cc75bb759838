"""The sum of a loss over queries and a penalty, as a function of the coefficients."""

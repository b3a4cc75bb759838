"""The losses in PyTorch, on GPUs and as objectives of boosted trees."""

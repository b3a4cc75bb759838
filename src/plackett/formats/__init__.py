"""Formats of other tools: text to arrays of trees and back, without rankers."""

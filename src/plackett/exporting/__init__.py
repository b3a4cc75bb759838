"""Linear rankers, trees and nets in the formats of other tools, checked by recomputing their scores."""

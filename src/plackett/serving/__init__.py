"""The scoring service: models behind an address, which rank lists of documents over HTTP."""

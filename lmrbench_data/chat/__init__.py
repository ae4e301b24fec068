"""Talk to models on OpenAI-compatible servers, with prices and limits, or raise one clear error."""

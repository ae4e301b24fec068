"""Talk to models on OpenAI-compatible servers: addresses, prices, requests that succeed or raise one clear error."""

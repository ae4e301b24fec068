"""Talk to language models behind OpenAI-compatible servers: addresses, prices, requests that end well or are told."""

"""The stream of chat.z.ai, which becomes Chat."""

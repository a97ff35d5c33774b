"""The stream of chat.z.ai, which is converted to Chat."""

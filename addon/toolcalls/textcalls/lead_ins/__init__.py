"""The words before a call, by language: do they announce it, or do they show, refuse or cite it?"""

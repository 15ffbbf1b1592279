"""Policy about jobs in the queue: users' expressions, the administrator's, and the pool's where the queue
evaluates it.
"""

"""What a Grid Engine cell adds to the queue: accounting, usage, error states, reports, holds of arrays."""

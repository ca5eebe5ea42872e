/** Statuses below 500 after which a retry may succeed. */
export const RETRYABLE_STATUSES: readonly number[] = [408, 425, 429];

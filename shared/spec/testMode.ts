/** Mode of an API key. A test key acts on the test account of its account. */
export const KEY_MODES = ['live', 'test'] as const;
export type KeyMode = (typeof KEY_MODES)[number];

/** Upstream that runs the generations of test accounts, and no others. Migrations contain the name as well. */
export const TEST_UPSTREAM_NAME = 'test-mode';

/** Generations that a test account can have in progress. */
export const TEST_PARALLEL_LIMIT = 4;

/** Days after which generations of test accounts are deleted with their files. */
export const TEST_RETENTION_DAYS = 30;

/** Log lines of the services under test. */
export function recordLog(_line: string): void {}

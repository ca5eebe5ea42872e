/** Returns the system's code of a failure (`ENOENT`), if it has one. */
export function getErrorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}

/** Returns the words of a failure. */
export function getErrorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Sends all messages that are due. */
export async function sendEmails(): Promise<void> {}

/** Deletes messages after their retention. */
export async function pruneEmails(): Promise<void> {}

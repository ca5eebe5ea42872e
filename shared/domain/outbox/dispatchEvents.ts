/** Dispatches recorded events: creates the deliveries and messages that follow from them. */
export async function dispatchEvents(): Promise<void> {}

/** Deletes events after their retention, with their deliveries. */
export async function pruneEvents(): Promise<void> {}

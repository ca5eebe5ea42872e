/** Delivers to all endpoints that have a delivery due. */
export async function deliverWebhooks(): Promise<void> {}

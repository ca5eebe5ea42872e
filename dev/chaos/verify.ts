import { checkInvariants, readAccountHistory, type Violation } from '../../shared/domain/integrity/index.ts';
import { compareStripeWithDatabase as compareStripe } from '../../test/fakes/stripe/compareWithDatabase.ts';
import {
  type ChaosClients,
  compareAutoTopups,
  compareChargesAfterDeletions,
  compareClientStore,
} from './clients/clients.ts';
import { compareCatalogs } from './catalogs.ts';
import { isCausedByMove } from './clockWatch.ts';
import { compareImages } from './compareImages.ts';
import { compareMails } from './compareMails.ts';
import { compareUpstream } from './compareUpstream.ts';
import { findWrongWindows } from './compareWindows.ts';
import { findUnmoderated } from './moderation.ts';
import { connectTo } from '../local/environment/databases.ts';
import type { ChaosEnvironment } from './environment.ts';
import type { InjectedFault } from './injectFaults.ts';
import { findSlowRequests } from './slowRequests.ts';
import type { SpeedWatch } from './speedWatch.ts';
import type { Stall } from './stalls.ts';

/** Checks everything that must hold after all work has settled. */
export async function checkEverything(
  environment: ChaosEnvironment,
  clients: ChaosClients,
  faults: InjectedFault[],
  stalls: readonly Stall[],
  speed: SpeedWatch,
): Promise<Violation[]> {
  const client = await connectTo(environment.databaseUrl);
  try {
    const drainedViolations = await clients.checkDrained();
    return [
      ...(await checkInvariants(client, { isDrained: true, now: environment.now() })).filter(
        (violation) => !isCausedByMove(violation),
      ),
      ...(await compareStripe(environment.stripe.summarize(), client)),
      ...(await compareUpstream(environment.upstream.jobs, client)),
      ...(await compareCatalogs(client)),
      ...(await compareImages(clients.store, environment.upstream.jobs, client)),
      ...(await compareClientStore(clients.store, client)),
      ...(await compareAutoTopups(clients.store, client)),
      ...(await compareChargesAfterDeletions(clients.store, environment.stripe.store, client)),
      ...(await findWrongWindows(client)),
      ...(await findUnmoderated(environment.moderation, client)),
      ...(await compareMails(environment, client)),
      ...drainedViolations,
      ...findSlowRequests(clients.store.requests, faults, environment.addresses, stalls, speed),
      ...environment.unexpectedExits.map((detail) => ({
        invariant: 'processes-keep-running',
        statement: 'No process exits on its own.',
        accountId: null,
        subject: detail,
        detail: `see ${environment.folder}/logs`,
      })),
    ];
  } finally {
    await client.end();
  }
}

/** Reads the histories of the accounts in violations. */
export async function readHistories(
  environment: ChaosEnvironment,
  violations: Violation[],
): Promise<Map<string, string[]>> {
  const accounts = new Set(violations.map(({ accountId }) => accountId).filter((id) => id !== null));
  const client = await connectTo(environment.databaseUrl);
  const histories = new Map<string, string[]>();
  try {
    for (const id of accounts) histories.set(id, await readAccountHistory(client, id));
  } finally {
    await client.end();
  }
  return histories;
}

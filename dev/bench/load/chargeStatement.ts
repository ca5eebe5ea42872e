import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { createGeneration } from '../../../shared/domain/generations/create.ts';
import { parseConfig } from '../../../shared/lib/config.ts';
import { openQueues } from '../../../shared/queues/enqueue.ts';
import { openService } from '../../../shared/service.ts';
import { getAccountKeyHash, SPARE_ACCOUNT } from '../seed.ts';

/** The service's own charge of one generation, ready to run without the service. */
export interface ChargeStatement {
  name: string;
  text: string;
  /**
   * Values of the statement for a new generation of an account.
   * @param waits true to wait for an account that another transaction has locked, and false to skip it.
   */
  valuesFor(account: number, waits: boolean): unknown[];
}

/** Values that differ between two generations. */
interface Placeholders {
  uuid: string;
  account: number;
  keyHash: Buffer;
}

/**
 * Captures the charge statement on its way to the database, by creating one generation of the spare account. The
 * comparison then uses the same SQL by construction, however the service builds it.
 */
export async function captureChargeStatement(): Promise<ChargeStatement> {
  let captured: { name: string; text: string; values: unknown[] } | undefined;
  const service = await openService(parseConfig(process.env));
  await openQueues();
  const original = Reflect.get(pg.Client.prototype, 'query') as (...args: unknown[]) => unknown;
  Reflect.set(pg.Client.prototype, 'query', function query(this: pg.Client, ...args: unknown[]) {
    const [sent] = args as [typeof captured];
    if (sent?.name === 'charge_generations') captured = { ...sent };
    return original.apply(this, args);
  });
  const keyHash = getAccountKeyHash(SPARE_ACCOUNT);
  const { generation } = await createGeneration(
    { accountId: SPARE_ACCOUNT, credential: { kind: 'key', hash: keyHash, address: '127.0.0.1' } },
    {
      model: 'imgmodel-2',
      prompt: 'A lighthouse at dusk, seen from the sea, painted in oil',
      params: { resolution: '1K', aspect_ratio: '16:9' },
    },
  );
  Reflect.set(pg.Client.prototype, 'query', original);
  // Its dispatch has not been enqueued yet.
  await delay(200);
  await service.close();
  if (captured === undefined)
    throw new Error('The service created a generation without a charge statement that could be captured.');
  const { name, text, values } = captured;
  const spare: Placeholders = { uuid: generation.uuid, account: SPARE_ACCOUNT, keyHash };
  const hashes = new Map<number, Buffer>();
  return {
    name,
    text,
    valuesFor: (account, waits) => {
      let hash = hashes.get(account);
      if (hash === undefined) hashes.set(account, (hash = getAccountKeyHash(account)));
      const placeholders: Placeholders = { uuid: uuidv7(), account, keyHash: hash };
      // The last parameter says whether the call waits.
      return [...values.slice(0, -1).map((value) => substitute(value, spare, placeholders)), waits];
    },
  };
}

function substitute(value: unknown, from: Placeholders, to: Placeholders): unknown {
  if (typeof value === 'string') {
    return value
      .replaceAll(from.uuid, to.uuid)
      .replaceAll(String(from.account), String(to.account))
      .replaceAll(from.keyHash.toString('hex'), to.keyHash.toString('hex'));
  }
  if (value === from.account) return to.account;
  if (Buffer.isBuffer(value)) return value.equals(from.keyHash) ? to.keyHash : value;
  return Array.isArray(value) ? value.map((item) => substitute(item, from, to)) : value;
}

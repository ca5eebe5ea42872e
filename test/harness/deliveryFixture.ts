import { randomUUID } from 'node:crypto';
import { RECORD_AND_CLAIM } from '../../shared/domain/webhooks/recordAndClaim.ts';
import { after as at, FunctionDatabase, NOW, type Row } from './functionDatabase.ts';

export const PROCESS = '00000000-0000-4000-8000-000000000001';
export const OTHER_PROCESS = '00000000-0000-4000-8000-000000000002';
export const LEASED_UNTIL = at(30_000);
/** A lease that began more than a second ago. */
export const SLOW_UNTIL = at(29_000);
export const QUICK_MS = 100;

/** An outcome as the function reads it, with the endpoint of its delivery. */
export interface Outcome {
  id: number;
  endpoint: number;
  leased_until?: Date;
  status?: string;
  next_attempt_at?: Date | null;
  attempt?: Row | null;
}
const OWN_LEASE = { leased_by: PROCESS, leased_until: at(29_500) };

const OTHER_LEASE = { leased_by: OTHER_PROCESS, leased_until: at(29_500) };

const succeeded = (id: number, endpoint: number, ms = QUICK_MS): Outcome => ({
  id,
  endpoint,
  status: 'succeeded',
  next_attempt_at: null,
  attempt: { status: 200, duration_ms: ms },
});

const failed = (id: number, endpoint: number): Outcome => ({
  id,
  endpoint,
  status: 'pending',
  next_attempt_at: at(60_000),
  attempt: { status: 500, error: 'down', duration_ms: 5 },
});

const released = (id: number, endpoint: number): Outcome => ({ id, endpoint, attempt: null });

const claimed = (rows: Row[]) =>
  rows.filter((row) => row['is_recorded'] === false && row['id'] !== null).map((row) => row['id']);

const recorded = (rows: Row[]) => rows.filter((row) => row['is_recorded'] === true).map((row) => row['id']);

/** Endpoints, deliveries and calls of the function that records and claims them. */
export function createDeliveryFixture() {
  const database = new FunctionDatabase();
  const owner = { id: 0 };
  const open = async () => {
    await database.open();
    owner.id = await database.account();
  };
  const clear = async () => {
    await database.query('DELETE FROM webhook_deliveries');
    await database.query('DELETE FROM webhook_endpoints');
  };

  /** An endpoint that is due, to which two attempts may be in flight. */
  const createEndpoint = async (row: Row = {}): Promise<number> => {
    const { id } = await database.insert('webhook_endpoints', {
      uuid: randomUUID(),
      account_id: owner.id,
      url: 'https://example.com/',
      secret: 's',
      private_key: 'p',
      public_key: 'k',
      next_delivery_at: NOW,
      concurrency: 2,
      created_at: NOW,
      updated_at: NOW,
      ...row,
    });
    return Number(id);
  };

  /** A delivery that is due. */
  const createDelivery = async (endpoint: number, row: Row = {}): Promise<number> => {
    const event = await database.insert('outbox_events', {
      account_id: owner.id,
      type: 'generation.succeeded',
      subject: randomUUID(),
      body: '{}',
      created_at: at(-9_000),
    });
    const { id } = await database.insert('webhook_deliveries', {
      endpoint_id: endpoint,
      event_id: event['id'],
      next_attempt_at: at(-1_000),
      created_at: NOW,
      ...row,
    });
    return Number(id);
  };
  const createDeliveries = async (endpoint: number, count: number, row: Row = {}): Promise<number[]> => {
    const ids: number[] = [];
    for (let index = 0; index < count; index += 1) ids.push(await createDelivery(endpoint, row));
    return ids;
  };

  const run = (outcomes: Outcome[] = [], limits: { healthy?: number; failing?: number; concurrency?: number } = {}) =>
    database.call(RECORD_AND_CLAIM, [
      JSON.stringify(outcomes.map((outcome) => ({ leased_until: OWN_LEASE.leased_until, ...outcome }))),
      outcomes.map(({ id }) => id),
      outcomes.map(({ endpoint }) => endpoint),
      limits.healthy ?? 10,
      limits.failing ?? 10,
      limits.concurrency ?? 8,
      4,
      3,
      QUICK_MS,
      NOW,
      PROCESS,
      LEASED_UNTIL,
      SLOW_UNTIL,
    ]);
  const read = async (table: string, id: number, columns: string) =>
    (await database.query(`SELECT ${columns} FROM ${table} WHERE id = $1`, [id]))[0] as Row;
  const readEndpoint = (id: number, columns = 'next_delivery_at, failing_since, concurrency') =>
    read('webhook_endpoints', id, columns);
  const readDelivery = (id: number, columns: string) => read('webhook_deliveries', id, columns);

  return {
    database,
    owner,
    open,
    clear,
    createEndpoint,
    createDelivery,
    createDeliveries,
    OWN_LEASE,
    OTHER_LEASE,
    succeeded,
    failed,
    released,
    run,
    claimed,
    recorded,
    read,
    readEndpoint,
    readDelivery,
  };
}

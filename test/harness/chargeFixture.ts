import { randomUUID } from 'node:crypto';
import { CHARGE_GENERATIONS, DECIDE_CREATES } from '../../shared/domain/generations/chargeFunctions.ts';
import { MEMBER_RIGHTS } from '../../shared/spec/roles.ts';
import { after as at, DAY_MS, FunctionDatabase, NOW, type Row } from './functionDatabase.ts';

export const MODEL = 'imgmodel-2';
/** Hash of the API key that {@link createChargeFixture} creates. */
export const KEY = 'ab'.repeat(32);
export const PROBED_SINCE = at(-60_000);
const CREATORS = [...MEMBER_RIGHTS.createGenerations];
/** Start of the month of `NOW`. */
export const MONTH = new Date('2037-03-01T00:00:00Z');
export const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex');

interface ChargeOptions {
  grants?: string[];
  keys?: string[];
  uploads?: string[];
  sendsEmail?: boolean;
  waits?: boolean;
  accounts?: number[];
}

const build = (account: number, request: Row = {}): Row => ({
  uuid: randomUUID(),
  account_id: account,
  member_number: 1,
  model: MODEL,
  prompt: 'a fox',
  params: { resolution: '1K' },
  credits: 30,
  created_at: NOW,
  deadline_at: at(600_000),
  catalog_id: 3,
  upstream_order: [1, 0],
  ...request,
});
/** Accounts, requests and calls of the functions that decide and charge creates. */
export function createChargeFixture() {
  const database = new FunctionDatabase();
  const open = async () => {
    await database.open();
    await setHealth({});
  };

  const setHealth = async (row: Row) => {
    await database.query('DELETE FROM upstream_health');
    await database.insert('upstream_health', {
      model: MODEL,
      position: 0,
      upstream: 'fal',
      status: 'online',
      consecutive_failures: 0,
      consecutive_successes: 1,
      probed_at: NOW,
      detail: '',
      ...row,
    });
  };

  /** An account with 60 plan credits and 40 of top-ups, whose threshold of `credits.low` is 10. */
  const createAccount = (row: Row = {}) =>
    database.account({
      plan_slug: 'pro',
      spendable_until: at(DAY_MS),
      parallel_limit: 2,
      balance: 100,
      plan_credits: 60,
      topup_credits: 40,
      period_granted: 1_000,
      credits_low_threshold: 10,
      ledger_count: 5,
      generation_count: 7,
      period_used: 11,
      ...row,
    });
  const createTestAccount = async (row: Row = {}) =>
    database.account({ live_account_id: await createAccount(), parallel_limit: 2, ...row });

  const decide = async (
    request: Row,
    { keys = [KEY], uploads = [] as string[], accounts = [request['account_id']] } = {},
  ) => {
    const args = [JSON.stringify([request]), accounts, keys.map(bytes), uploads, NOW, PROBED_SINCE, CREATORS];
    return (await database.call(DECIDE_CREATES, args))[0];
  };
  const outcome = async (request: Row, options = {}) => (await decide(request, options))?.['outcome'];
  const outcomeFor = async (account: Row, request: Row = {}) => outcome(build(await createAccount(account), request));

  const charge = (rounds: Row[][], options: ChargeOptions = {}, client = database.client) => {
    const { grants = [], keys = [], uploads = [], sendsEmail = false, waits = false } = options;
    const accounts = options.accounts ?? rounds.flat().map((request) => request['account_id'] as number);
    return database.call(
      CHARGE_GENERATIONS,
      [
        rounds.map((round) => JSON.stringify(round)),
        accounts,
        keys.map(bytes),
        grants,
        uploads,
        NOW,
        PROBED_SINCE,
        CREATORS,
        at(5_000),
        sendsEmail,
        waits,
      ],
      client,
    );
  };

  const createKey = (account: number, row: Row = {}) =>
    database.insert('api_keys', {
      key_hash: bytes(KEY),
      uuid: randomUUID(),
      account_id: account,
      number: 4,
      member_number: 1,
      name: 'key',
      prefix: 'gm_',
      created_at: NOW,
      ...row,
    });
  const createGrant = async (account: number, row: Row = {}): Promise<string> => {
    const uuid = randomUUID();
    await database.insert('oauth_grants', {
      uuid,
      account_id: account,
      member_number: 1,
      client_id: 'app',
      scopes: ['svc:write'],
      resource: 'r',
      redirect_uri: 'u',
      created_at: NOW,
      ...row,
    });
    return uuid;
  };

  const createUpload = async (account: number, row: Row = {}): Promise<string> => {
    const { uuid } = await database.insert('uploads', {
      uuid: randomUUID(),
      account_id: account,
      source: 'upload',
      status: 'ready',
      content_type: 'image/png',
      bytes: 1,
      width: 1,
      height: 1,
      created_at: NOW,
      expires_at: NOW,
      ...row,
    });
    return uuid as string;
  };

  const createLimit = (account: number, row: Row) =>
    database.insert('spending_limits', {
      account_id: account,
      number: 1,
      credits: 50,
      period: 'month',
      window_start: MONTH,
      used: 20,
      generation_count_at_window_start: 2,
      created_at: NOW,
      updated_at: NOW,
      ...row,
    });
  return {
    database,
    open,
    setHealth,
    createAccount,
    createTestAccount,
    build,
    decide,
    outcome,
    outcomeFor,
    charge,
    createKey,
    createGrant,
    createLimit,
    createUpload,
  };
}

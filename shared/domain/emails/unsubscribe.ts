import { createHmac, timingSafeEqual } from 'node:crypto';
import { config } from '../../lib/config.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { getServerSecret } from '../../lib/serverSecret.ts';
import { UUID_PATTERN } from '../../lib/uuid.ts';
import { EMAIL_KINDS, type OwnerEmailKind } from '../../spec/events.ts';
import { isSwitchable } from './settings.ts';

/**
 * Addresses that switch messages of one kind off without a sign-in (RFC 8058). They name account and kind, are signed,
 * do not expire, and allow nothing else.
 */

const TOKEN = new RegExp(`^(?<accountUuid>${UUID_PATTERN})\\.(?<name>[a-z_]+)\\.(?<signature>[A-Za-z0-9_-]{43})$`);

/** Messages of one kind to one account. */
export interface EmailSubscription {
  accountUuid: string;
  kind: OwnerEmailKind;
}

/** Builds the address that switches messages of a kind off. */
export function buildUnsubscribeUrl(subscription: EmailSubscription): string {
  const { accountUuid, kind } = subscription;
  return `${config.BASE_URL}/unsubscribe/${accountUuid}.${kind}.${sign(subscription).toString('base64url')}`;
}

/** Parses a token. Returns null unless this service has signed it. */
export function parseUnsubscribeToken(token: string): EmailSubscription | null {
  const { accountUuid = '', name = '', signature = '' } = TOKEN.exec(token)?.groups ?? {};
  const kind = EMAIL_KINDS.find((candidate) => candidate === name);
  if (kind === undefined || !isSwitchable(kind)) return null;
  const subscription = { accountUuid, kind };
  return timingSafeEqual(sign(subscription), Buffer.from(signature, 'base64url')) ? subscription : null;
}

function sign({ accountUuid, kind }: EmailSubscription): Buffer {
  return createHmac('sha256', getServerSecret()).update(`unsubscribe ${accountUuid} ${kind}`).digest();
}

const UNSUBSCRIBE = prepared(
  'unsubscribe',
  `UPDATE accounts SET email_settings = email_settings || jsonb_build_object(cast(:kind AS text), false)
    WHERE uuid = :accountUuid AND erased_at IS NULL`,
);

/** Switches messages of a kind off. */
export async function unsubscribe({ accountUuid, kind }: EmailSubscription): Promise<void> {
  await runStatement(UNSUBSCRIBE, { accountUuid, kind });
}

import { createHmac, timingSafeEqual } from 'node:crypto';
import { config } from '../../lib/config.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { getServerSecret } from '../../lib/serverSecret.ts';
import { UUID_PATTERN } from '../../lib/uuid.ts';
import { EMAIL_KINDS, type OwnerEmailKind } from '../../spec/events.ts';
import { Account } from '../../tables/Account.ts';
import { isSwitchable } from './settings.ts';

/**
 * Addresses that switch messages of one kind off without a sign-in (RFC 8058). They name account and kind, are signed,
 * do not expire, and allow nothing else. The signature covers the address of the owner, so a hand-over invalidates
 * them.
 */

const TOKEN = new RegExp(`^(?<accountUuid>${UUID_PATTERN})\\.(?<name>[a-z_]+)\\.(?<signature>[A-Za-z0-9_-]{43})$`);

/** Messages of one kind to the owner of an account. */
export interface EmailSubscription {
  accountUuid: string;
  /** Address of the owner. */
  email: string;
  kind: OwnerEmailKind;
}

/** Builds the address that switches messages of a kind off. */
export function buildUnsubscribeUrl(subscription: EmailSubscription): string {
  const { accountUuid, kind } = subscription;
  return `${config.BASE_URL}/unsubscribe/${accountUuid}.${kind}.${sign(subscription).toString('base64url')}`;
}

/** Reads a token. Returns null unless this service has signed it for the present owner of the account. */
export async function readUnsubscribeToken(token: string): Promise<EmailSubscription | null> {
  const { accountUuid = '', name = '', signature = '' } = TOKEN.exec(token)?.groups ?? {};
  const kind = EMAIL_KINDS.find((candidate) => candidate === name);
  if (kind === undefined || !isSwitchable(kind)) return null;
  const account = await Account.query().findOne({ uuid: accountUuid }).select('email');
  if (account === undefined) return null;
  const subscription = { accountUuid, email: account.email, kind };
  return timingSafeEqual(sign(subscription), Buffer.from(signature, 'base64url')) ? subscription : null;
}

function sign({ accountUuid, email, kind }: EmailSubscription): Buffer {
  return createHmac('sha256', getServerSecret()).update(`unsubscribe ${accountUuid} ${kind} ${email}`).digest();
}

const UNSUBSCRIBE = prepared(
  'unsubscribe',
  `UPDATE accounts SET email_settings = email_settings || jsonb_build_object(cast(:kind AS text), false)
    WHERE uuid = :accountUuid AND email = :email`,
);

/** Switches messages of a kind off. */
export async function unsubscribe({ accountUuid, email, kind }: EmailSubscription): Promise<void> {
  await runStatement(UNSUBSCRIBE, { accountUuid, email, kind });
}

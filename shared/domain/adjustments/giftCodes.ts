import type { Transaction } from 'objection';
import { v7 as uuidv7 } from 'uuid';
import { now } from '../../lib/clock.ts';
import { getPageOffset, type ListPage } from '../../lib/pagination.ts';
import { randomCharacters, sha256 } from '../../lib/secrets.ts';
import { isUuid } from '../../lib/uuid.ts';
import { ServiceError } from '../../spec/errors.ts';
import { PAGE_SIZE } from '../../spec/limits.ts';
import { Account } from '../../tables/Account.ts';
import { GiftCode } from '../../tables/GiftCode.ts';
import type { Caller } from '../accounts/caller.ts';
import { withAccountOfCaller } from '../accounts/lockedCredentials.ts';
import { type Actor, mayActOn, recordAuditEntry } from '../audit/recordAuditEntry.ts';
import { needsApproval, postAdjustmentWithin } from './creditAdjustments.ts';

export interface NewGiftCode {
  /** Credits of one redemption. */
  credits: number;
  /** Number of accounts that may redeem it, once each. */
  uses: number;
  /** Null: never. */
  expiresAt: Date | null;
}

/** A new code with its text, which is not stored. */
export interface CreatedGiftCode {
  code: string;
  row: GiftCode;
}

/** Letters and digits that are not mistaken for each other (Crockford's base 32). */
const SYMBOLS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const RANDOM_SYMBOLS = 16;
const PREFIX_SYMBOLS = 4;

/**
 * Creates a gift code. Its text is returned only here. The reason of the actor is its note, which customers do not see.
 * @throws ServiceError validation_error for an expiry in the past; admin_required if all redemptions together need a
 *   second member of staff, or are above the member's daily limit.
 */
export async function createGiftCode(
  actor: Actor,
  { credits, uses, expiresAt }: NewGiftCode,
  onCreated: (transaction: Transaction, created: CreatedGiftCode) => Promise<void> = async () => {},
): Promise<CreatedGiftCode> {
  const total = credits * uses;
  if (needsApproval(total)) {
    const detail = `A code for ${total} credits in total needs a second member of staff, which gift codes do not offer. Create one for fewer credits or uses.`;
    throw new ServiceError('admin_required', detail);
  }
  if (expiresAt !== null && expiresAt <= now())
    throw new ServiceError('validation_error', 'expires_at must be in the future.', { field: 'expires_at' });
  const symbols = randomCharacters(SYMBOLS, RANDOM_SYMBOLS);
  const code = `GIFT-${symbols.replaceAll(/(.{4})(?!$)/g, '$1-')}`;
  return Account.transaction(async (transaction) => {
    const row = await GiftCode.query(transaction).insertAndFetch({
      uuid: uuidv7(),
      code_hash: hashCode(code),
      prefix: code.slice(0, 'GIFT-'.length + PREFIX_SYMBOLS),
      credits,
      uses_max: uses,
      expires_at: expiresAt,
      note: actor.reason,
      created_by: actor.kind === 'staff' ? actor.accountId : null,
      role: actor.kind === 'staff' ? actor.role : null,
      created_at: now(),
    });
    await recordAuditEntry(transaction, actor, {
      action: 'giftCode.create',
      accountId: null,
      targetId: row.uuid,
      after: { credits: total, creditsEach: credits, uses, expiresAt },
    });
    await onCreated(transaction, { code, row });
    return { code, row };
  });
}

/** Hashes a code as people type it: in any case, with or without dashes. */
function hashCode(text: string): Buffer {
  return sha256(text.toUpperCase().replaceAll(/[\s-]/g, ''));
}

/** Lists the gift codes, newest first. */
export async function listGiftCodes(page: number): Promise<ListPage<GiftCode>> {
  const [totalItems, items] = await Promise.all([
    GiftCode.query().resultSize(),
    GiftCode.query().orderBy('created_at', 'desc').offset(getPageOffset(page)).limit(PAGE_SIZE),
  ]);
  return { page, totalItems, items };
}

/** @throws ServiceError not_found */
export async function findGiftCode(uuid: string): Promise<GiftCode> {
  const code = isUuid(uuid) ? await GiftCode.query().findById(uuid) : undefined;
  if (code === undefined) throw new ServiceError('not_found', 'Not found. There is no gift code with that UUID.');
  return code;
}

/**
 * Revokes a gift code. What was redeemed stays; revoking it again changes nothing.
 * @throws ServiceError not_found
 */
export async function revokeGiftCode(actor: Actor, uuid: string): Promise<GiftCode> {
  return Account.transaction(async (transaction) => {
    const code = await GiftCode.query(transaction).findById(uuid).forNoKeyUpdate();
    if (code === undefined || code.revoked_at !== null) return code ?? findGiftCode(uuid);
    await recordAuditEntry(transaction, actor, {
      action: 'giftCode.revoke',
      accountId: null,
      targetId: uuid,
      before: { uses: code.uses, usesMax: code.uses_max },
    });
    return code.$query(transaction).patchAndFetch({ revoked_at: now() });
  });
}

/** Credits of a redeemed code, and the balance after them. */
export interface RedeemedGiftCode {
  credits: number;
  balance: number;
}

/**
 * Redeems a gift code: posts its credits to the top-up bucket, once for each account.
 * @returns its credits, and the balance after them.
 * @throws ServiceError validation_error if the code is unknown, revoked, expired or used up, or was redeemed by this
 *   account, or the account is being deleted; errors of the caller's credential.
 */
export async function redeemGiftCode(
  caller: Caller,
  text: string,
  onRedeemed: (transaction: Transaction, redeemed: RedeemedGiftCode) => Promise<void> = async () => {},
): Promise<RedeemedGiftCode> {
  return withAccountOfCaller(caller, async (transaction, account) => {
    if (account.deletion_requested_at !== null)
      throw codeError('the account is being deleted. Undo the deletion on the account page first.');
    const code = await lockRedeemableCode(transaction, text);
    const { created_by: createdBy, role } = code;
    if (
      createdBy !== null &&
      role !== null &&
      !(await mayActOn(transaction, { accountId: createdBy, role }, account.id))
    )
      throw codeError('it was created by a member of staff who may not credit this account.');
    const adjustment = {
      accountId: account.id,
      credits: code.credits,
      // No request name of staff contains a colon.
      requestName: `gift:${code.uuid}:${account.uuid}`,
      note: `gift code ${code.prefix}…`,
    };
    const redemption = { kind: 'system', systemUser: 'gift code', reason: `gift code ${code.uuid}` } as const;
    if (!(await postAdjustmentWithin(transaction, adjustment, redemption)))
      throw codeError('this account has already redeemed it.');
    await code.$query(transaction).patch({ uses: code.uses + 1 });
    const { balance } = await account.$query(transaction).select('balance');
    const redeemed = { credits: code.credits, balance };
    await onRedeemed(transaction, redeemed);
    return redeemed;
  });
}

async function lockRedeemableCode(transaction: Transaction, text: string): Promise<GiftCode> {
  const code = await GiftCode.query(transaction)
    .findOne({ code_hash: hashCode(text) })
    .forNoKeyUpdate();
  if (code === undefined) throw codeError('there is no such gift code. Check it for typing errors.');
  if (code.revoked_at !== null) throw codeError('this gift code was withdrawn.');
  if (code.expires_at !== null && code.expires_at <= now())
    throw codeError(`this gift code expired at ${code.expires_at.toISOString()}.`);
  if (code.uses >= code.uses_max) throw codeError('this gift code was redeemed as often as it can be.');
  return code;
}

function codeError(detail: string): ServiceError {
  return new ServiceError('validation_error', `code: ${detail}`, { field: 'code' });
}

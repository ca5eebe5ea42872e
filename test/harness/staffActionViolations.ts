import { breakPlatform, type Corruption, breakCustomer } from './corruption.ts';

/** Builds an INSERT of an audit entry of account 1 that has no effect. */
const auditEntrySql = (action: string, after: object = {}) => `
  INSERT INTO audit_entries (uuid, created_at, command_user, role, action, account_id, target_type, target_id, reason, after)
  VALUES (gen_random_uuid(), '2037-03-15T11:00:00Z', 'root', 'system', '${action}', 1, 'account', gen_random_uuid(), '',
          '${JSON.stringify(after)}')`;

/** Corruptions of the ledger fixture by staff actions without their audit entry or effect. */
export const STAFF_ACTION_CORRUPTIONS: Record<string, Corruption[]> = {
  'adjustments-are-audited': [
    breakCustomer(`DELETE FROM audit_entries WHERE action = 'credits.adjust'`),
    breakCustomer(auditEntrySql('credits.adjust', { ledgerEntry: 1, credits: 50 })),
  ],
  'gift-codes-are-counted': [
    breakPlatform(`INSERT INTO gift_codes (uuid, code_hash, prefix, credits, uses_max, uses, note, created_at)
                   VALUES (gen_random_uuid(), '', 'GIFT-0000', 5, 2, 1, '', now())`),
  ],
  'staff-refunds-are-audited': [
    breakCustomer(`UPDATE generations SET refunded_at = completed_at WHERE account_id = 1 AND number = 1`),
    breakCustomer(auditEntrySql('generation.refund')),
  ],
  'topup-refunds-are-audited': [
    breakCustomer(`INSERT INTO owed_refunds (topup_uuid, account_id, cause, created_at)
                   SELECT uuid, account_id, 'staff', now() FROM topups WHERE kind = 'automatic' AND status = 'succeeded'`),
    breakCustomer(`INSERT INTO owed_refunds (topup_uuid, account_id, cause, created_at)
                   SELECT uuid, account_id, 'erased', now() FROM topups WHERE kind = 'automatic' AND status = 'failed'`),
    breakCustomer(auditEntrySql('topup.refund')),
  ],
};
